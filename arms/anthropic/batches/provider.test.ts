// What Anthropic's batches answer that is malformed, over HTTP where the arm pays for it.
import pino from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { armSchema } from "../../../config/schema.ts";
import type { SubmittedBatch } from "../../../schemas/types.ts";
import { startBatchProvider, type BatchProvider } from "../../../test/support/batch-provider.ts";
import type { Arm, ArmResult } from "../../arm.ts";
import { createArm } from "../../create.ts";
import { armRequest, aTurn } from "../../request.testing.ts";
import { createBatchesApi } from "./api.ts";

const listOf = (answer: (after: string | null) => object) =>
  createBatchesApi({ baseUrl: "http://provider/v1", apiKey: "k", headers: {} }, (url) => {
    const after = new URL(url instanceof Request ? url.url : url).searchParams.get("after_id");
    return Promise.resolve(Response.json(answer(after)));
  }).list(0);

describe("a list of batches", () => {
  const batch = { id: "b", created_at: "2026-01-01T00:00:00Z", processing_status: "ended" };

  it.each([
    ["is empty and has more", () => ({ data: [], has_more: true, last_id: "b" })],
    ["repeats its page", () => ({ data: [batch], has_more: true, last_id: "b" })],
    ["goes on without dates", (after: string | null) => ({ data: [{}], has_more: true, last_id: `${after}1` })],
  ])("that %s is refused", async (_how, answer) => {
    const page = (after: string | null) => ({ ...answer(after), ...(after?.length === 200 && { data: [] }) });
    await expect(listOf(page)).rejects.toThrow("has no end");
  });

  it("that is longer than any is of two days is refused", async () => {
    const data = Array.from({ length: 5_000 }, () => ({ id: "b" }));
    let page = 0;
    await expect(listOf(() => ({ data, has_more: true, last_id: `b${page++}` }))).rejects.toThrow("more than 20000");
    expect(page).toBe(5);
  });
});

describe("results of Anthropic's batches", () => {
  let provider: BatchProvider;
  let arm: Arm | undefined;
  beforeEach(async () => void (provider = await startBatchProvider()));
  afterEach(async () => {
    await arm?.close();
    await provider.stop();
  });

  async function ask(...questions: string[]): Promise<ArmResult[]> {
    const records = new Map<string, SubmittedBatch>();
    const asked = (arm = await createArm(
      armSchema.parse({
        ...{ name: "night", type: "anthropic", baseUrl: provider.baseUrl, model: "m", apiKey: "k", batch: "provider" },
        ...{ prices: { prompt: 10, completion: 20 }, batchCollectMs: 200 },
      }),
      {
        log: pino({ level: "silent" }),
        batchRecords: {
          read: () => Promise.resolve([...records.values()]),
          write: (record) => Promise.resolve(void records.set(record.id, record)),
          remove: (id) => Promise.resolve(void records.delete(id)),
        },
      },
    ));
    const deadline = Date.now() + 24 * 3_600_000;
    const requestOf = (question: string) =>
      armRequest({ requestId: question, tenant: "acme", pieces: [aTurn(question)], deadline });
    return Promise.all(questions.map((one) => asked.answer(requestOf(one), new AbortController().signal)));
  }
  const resultIs = (change: (message: object) => object) =>
    provider.distort((line) => {
      const { custom_id, result } = JSON.parse(line) as { custom_id: string; result?: { message: object } };
      // The mock writes OpenAI's results beside them.
      return result === undefined ? [line] : [JSON.stringify({ custom_id, result: change(result.message) })];
    });

  it("count by the first one of each line, among foreign and broken ones", async () => {
    provider.distort((line) => [
      ...["", "{ no JSON", "null", "[]", '{"custom_id":7}', `{"custom_id":"${"0".repeat(40)}"}`],
      ...[`{"pad":"${"x".repeat(17 * 1_048_576)}"}`, line, line.replace("batch: ", "again: ")],
    ]);
    expect(await ask("one", "two")).toMatchObject([{ text: "batch: one" }, { text: "batch: two" }]);
  });

  it.each([
    ["no usage", undefined],
    ["usage that is no number", { input_tokens: "many", output_tokens: null }],
    ["usage below 0", { input_tokens: -5, output_tokens: -1 }],
  ])("with %s cost what their text is estimated at", async (_what, usage) => {
    resultIs((message) => ({ type: "succeeded", message: { ...message, usage } }));
    const [result] = await ask("one");
    expect(result).toMatchObject({ kind: "answer", text: "batch: one", usage: { estimated: true } });
    expect(result?.kind === "answer" && result.cost).toBeGreaterThan(0);
  });

  it.each<[string, object, object]>([
    ["no result", {}, { message: expect.stringContaining("did not call the line") as string }],
    ["a type of another time", { type: "paused" }, { message: expect.stringContaining("paused") as string }],
    ["an answer without a message", { type: "succeeded" }, { attempts: 1 }],
    ["an answer that is text", { type: "succeeded", message: "text" }, { attempts: 1 }],
    ["an error without words", { type: "errored", error: {} }, { attempts: 1 }],
    ["an error without its frame", { type: "errored", error: { type: "api_error", message: "m" } }, { attempts: 1 }],
  ])("that are %s fail as the arm's own failure", async (_what, result, expected) => {
    resultIs(() => result);
    expect(await ask("one")).toMatchObject([{ kind: "failure", retriable: true, ...expected }]);
  });
});
