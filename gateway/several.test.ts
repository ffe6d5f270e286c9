import { expect, it } from "vitest";
import { plainRequest } from "../schemas/plain-request.ts";
import type { Request, Response } from "../schemas/types.ts";
import { createChunks } from "./api/chunks.ts";
import { createTextChunks } from "./api/completions.ts";
import { chatCompletion } from "./api/response.ts";
import { aResponse } from "./responses.testing.ts";
import { askSeveral } from "./several.ts";

const options = { signal: new AbortController().signal, onDelta: () => undefined };
const request = {
  ...plainRequest("x", { mayCompare: true, deltas: true }),
  id: "r",
  allow: { arms: ["a", "b"], maxCost: 0.9, deadlineMs: null, costWeight: null },
  params: { maxTokens: null, temperature: 1, topP: null, seed: 7, stop: [] },
};
const answers = (asked: Request[], change: (one: Request & { id: string }) => Partial<Response> = () => ({})) =>
  askSeveral(
    (one, { onDelta }) => {
      asked.push(one);
      expect(onDelta === undefined).toBe(asked.length > 1);
      const tokens = { ...aResponse().usage, prompt: 10, completion: 3 };
      return Promise.resolve(
        aResponse({ requestId: one.id, arm: "b", text: one.id, cost: 0.2, usage: tokens, ...change(one) }),
      );
    },
    3,
    () => undefined,
  );

it("asks the arm that answered first for the others, as requests of their own, and sums what they took", async () => {
  const asked: Request[] = [];
  const several = answers(asked);
  const first = await several.ask(request, options);
  expect(asked).toMatchObject([
    { id: "r", allow: { arms: ["a", "b"], maxCost: 0.3 }, params: { seed: 7 }, privacy: { fresh: true } },
    { id: "r-1", allow: { arms: ["b"], maxCost: 0.3 }, params: { seed: 8 }, mayCompare: false, deltas: false },
    { id: "r-2", allow: { arms: ["b"] }, params: { seed: 9 }, privacy: { fresh: true } },
  ]);
  expect(first).toMatchObject({ requestId: "r", usage: { prompt: 30, completion: 9, estimated: false } });
  expect(first.cost).toBeCloseTo(0.6, 9);
  const whole = chatCompletion(first, { model: "auto" }, several.others());
  expect(whole.choices.map(({ index, message }) => [index, (message as { content: string }).content])).toEqual([
    [0, "r"],
    [1, "r-1"],
    [2, "r-2"],
  ]);
  expect(whole.usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 9 });
  const of = { requestId: "r", model: "auto", created: 1, includeUsage: true, others: several.others };
  for (const chunks of [createChunks(of), createTextChunks(of)]) {
    const stream = chunks.begin() + chunks.text("r") + chunks.end(first, []);
    const texts = ["", "", ""];
    const ends: unknown[] = [];
    for (const event of stream.split("\n\n").filter((one) => one.startsWith("data: {"))) {
      const { choices } = JSON.parse(event.slice(6)) as {
        choices: { index: number; text?: string; delta?: { content?: string }; finish_reason: string | null }[];
      };
      for (const { index, text, delta, finish_reason } of choices) {
        texts[index] = `${texts[index]}${text ?? delta?.content ?? ""}`;
        if (finish_reason !== null) ends.push([index, finish_reason]);
      }
    }
    expect(texts).toEqual(["r", "r-1", "r-2"]);
    expect(ends).toEqual([0, 1, 2].map((index) => [index, "stop"]));
    expect(stream.endsWith("data: [DONE]\n\n")).toBe(true);
  }
});

it("fails where one fails, and asks no further where the first does", async () => {
  const failed = { status: "failed" as const, error: null };
  const asked: Request[] = [];
  expect(await answers(asked, ({ id }) => (id === "r-2" ? failed : {})).ask(request, options)).toMatchObject({
    status: "failed",
  });
  const first: Request[] = [];
  expect(await answers(first, () => failed).ask(request, options)).toMatchObject({ status: "failed" });
  expect([asked.length, first.length]).toEqual([3, 1]);
});

it("asks for none where the limit leaves fewer than all", async () => {
  let [asked, left] = [0, 2];
  const limited = askSeveral(
    () => {
      asked++;
      return Promise.resolve(aResponse());
    },
    4,
    () => {
      if (left-- === 0) throw new Error("no request left");
    },
  );
  await expect(limited.ask(request, options)).rejects.toThrow("no request left");
  expect(asked).toBe(0);
});
