import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { armRequest, aTurn } from "../request.testing.ts";
import { armSchema, type RecordedArmConfig } from "../../config/schema.ts";
import type { ArmRequest } from "../arm.ts";
import { createRecordedArm } from "./recorded.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-recorded-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function log(...lines: (object | string)[]): Promise<string> {
  const file = join(folder, `${String(Math.random()).slice(2)}.jsonl`);
  await writeFile(file, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  return file;
}

const config = (file: string, more: object = {}): RecordedArmConfig => {
  const parsed = armSchema.parse({ name: "large", type: "recorded", file, ...more });
  if (parsed.type !== "recorded") throw new Error("unreachable");
  return parsed;
};

function request(text: string, more: { id?: string; seed?: number } = {}): ArmRequest {
  return armRequest({
    requestId: more.id ?? "r1",
    pieces: [{ kind: "example", id: "e", role: "user", text: "not this one" }, aTurn(text)],
    params: { seed: more.seed ?? null },
  });
}
const signal = (): AbortSignal => new AbortController().signal;

describe("recorded arm", () => {
  it("finds the answer by canonical last user turn, for its own arm and for all arms", async () => {
    const file = await log(
      { request: "list  files", response: "wrong", arm: "other" },
      "",
      {
        request: " list files",
        response: "ls",
        arm: "large",
        model: "big",
        usage: { prompt: 10, completion: 2 },
        cost: 0.5,
      },
      { request: "where am I", response: "pwd" },
    );
    const arm = await createRecordedArm(config(file, { prices: { prompt: 1e6, completion: 0 } }));
    expect(await arm.answer(request("list files\n"), signal())).toMatchObject({
      kind: "answer",
      text: "ls",
      model: "big",
      cost: 0.5,
      usage: { prompt: 10, completion: 2, prefilled: 10, linked: 0 },
    });
    const estimated = await arm.answer(request("where am I"), signal());
    expect(estimated).toMatchObject({
      text: "pwd",
      model: "recorded",
      finishReason: "stop",
      usage: { completion: 1, estimated: true },
    });
    expect(estimated.kind === "answer" && estimated.cost).toBe(7);
  });

  it("answers a miss with not_recorded, case being kept", async () => {
    const arm = await createRecordedArm(config(await log({ request: "List files", response: "ls" })));
    expect(await arm.answer(request("list files"), signal())).toMatchObject({
      kind: "failure",
      code: "not_recorded",
      retriable: false,
    });
  });

  it("spreads several answers over requests, the same for the same request, or by seed", async () => {
    const arm = await createRecordedArm(config(await log({ request: "q", responses: ["a", "b", "c"] })));
    const texts = new Set<string>();
    for (let index = 0; index < 40; index += 1) {
      const [first, second] = await Promise.all(
        [1, 2].map(() => arm.answer(request("q", { id: `id-${String(index)}` }), signal())),
      );
      expect(first?.kind === "answer" && first.text).toBe(second?.kind === "answer" && second.text);
      if (first?.kind === "answer") texts.add(first.text);
    }
    expect([...texts].sort()).toEqual(["a", "b", "c"]);
    for (const [seed, text] of [
      [0, "a"],
      [1, "b"],
      [5, "c"],
    ] as const)
      expect(await arm.answer(request("q", { seed }), signal())).toMatchObject({ text });
  });

  it("is cancelled while it waits out its latency", async () => {
    const arm = await createRecordedArm(config(await log({ request: "q", response: "a" }), { latencyMs: 60_000 }));
    const controller = new AbortController();
    const pending = arm.answer(request("q"), controller.signal);
    controller.abort();
    expect(await pending).toMatchObject({ kind: "failure", code: "cancelled" });
  });

  it("answers no more at a time than its concurrency, each as long as its line says", async () => {
    const file = await log(
      { request: "slow", response: "a", latencyMs: 40 },
      { request: "quick", response: "b", latencyMs: 0 },
    );
    const arm = await createRecordedArm(config(file, { concurrency: 1, latencyMs: 60_000 }));
    const order: string[] = [];
    const ask = async (text: string, id: string) => {
      const result = await arm.answer(request(text, { id }), signal());
      order.push(id);
      return result;
    };
    const results = await Promise.all([ask("slow", "first"), ask("slow", "second"), ask("quick", "at once")]);
    expect(order).toEqual(["at once", "first", "second"]);
    const [first, second, quick] = results.map((result) => (result.kind === "answer" ? result.queueMs : NaN));
    expect(quick).toBe(0);
    expect(second).toBeGreaterThan(first!);
    const waiting = [ask("slow", "third"), ask("unknown", "fourth")];
    await arm.close();
    for (const result of await Promise.all(waiting))
      expect(result).toMatchObject({ kind: "failure", code: "cancelled" });
  });

  it.each([
    ["{not json", /:2: no JSON/],
    [{ request: "q" }, /:2: .*either response or responses/],
    [{ request: "  ", response: "x" }, /:2: request: must not be blank/],
    [{ request: "q", response: 3 }, /:2: response: /],
    [{ request: "q", response: "x", cost: -1 }, /:2: cost: /],
  ])("names file and line of %j", async (line, message) => {
    const file = await log({ request: "fine", response: "fine" }, line);
    await expect(createRecordedArm(config(file))).rejects.toThrow(message);
    await expect(createRecordedArm(config(file))).rejects.toThrow(file);
  });

  it("says which arm's file is missing", async () => {
    await expect(createRecordedArm(config(join(folder, "none.jsonl")))).rejects.toThrow(
      /log of arm "large" can't be read.*none\.jsonl/,
    );
  });
});
