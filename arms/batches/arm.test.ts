// The arms of provider batches against a mock of OpenAI's and Anthropic's batch APIs over HTTP.
import { hash } from "node:crypto";
import pino from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { requestKey } from "../../algorithms/identity/identity.ts";
import { armSchema } from "../../config/schema.ts";
import type { SubmittedBatch } from "../../schemas/types.ts";
import { startBatchProvider, type BatchProvider } from "../../test/support/batch-provider.ts";
import type { BatchRecords } from "../anthropic/batches/match.ts";
import { TAKEN_BACK, type Arm } from "../arm.ts";
import { createArm } from "../create.ts";
import { armRequest, aTurn } from "../request.testing.ts";

let provider: BatchProvider;
let type: "openai" | "anthropic" = "openai";
const arms: Arm[] = [];
const records = new Map<string, SubmittedBatch>();
const batchRecords: BatchRecords = {
  read: () => Promise.resolve([...records.values()]),
  write: (record) => Promise.resolve(void records.set(record.id, record)),
  remove: (id) => Promise.resolve(void records.delete(id)),
};
beforeEach(async () => {
  records.clear();
  provider = await startBatchProvider();
});
afterEach(async () => {
  await Promise.all(arms.splice(0).map((arm) => arm.close()));
  await provider.stop();
});

async function newArm(more: object = {}, batchTimeoutMs?: number): Promise<Arm> {
  const arm = await createArm(
    armSchema.parse({
      ...{ name: "night", type, baseUrl: provider.baseUrl, model: "m", apiKey: "k", batch: "provider" },
      ...{ prices: { prompt: 10, completion: 20 }, batchCollectMs: 200, ...more },
    }),
    { log: pino({ level: "silent" }), batchRecords, batchTimeoutMs },
  );
  arms.push(arm);
  return arm;
}
const hours = 3_600_000;
const asked = (question: string, deadline = Date.now() + 24 * hours) =>
  armRequest({ requestId: question, tenant: "acme", pieces: [aTurn(question)], deadline });
const ask = (arm: Arm, questions: readonly string[], signal?: AbortSignal) =>
  questions.map((question) => arm.answer(asked(question), signal ?? new AbortController().signal));
const submitted = () => vi.waitFor(() => expect(provider.submitted()).toHaveLength(1), 10_000);
const lines = () => provider.submitted().flat();

describe.each(["openai", "anthropic"] as const)("an arm of %s batches", (of) => {
  beforeEach(() => void (type = of));

  it("answers many requests by one batch, each by its own result, at half the price", async () => {
    const questions = Array.from({ length: 20 }, (_, i) => `question ${i}`);
    const results = await Promise.all(ask(await newArm(), questions));
    expect(results.map((result) => result.kind === "answer" && result.text)).toEqual(
      questions.map((q) => `batch: ${q}`),
    );
    // 1,000 prompt tokens at 10 and 100 of the completion at 20 a million.
    expect(results[0]).toMatchObject({ cost: (1_000 * 10 + 100 * 20) / 2 / 1_000_000, attempts: 1, model: "m" });
    expect(provider.submitted().map((ids) => ids.length)).toEqual([20]);
    const cheaper = await newArm({ name: "cheaper", prices: { prompt: 10, completion: 20, batchShare: 0.25 } });
    expect(await Promise.all(ask(cheaper, ["a"]))).toMatchObject([{ cost: (1_000 * 10 + 100 * 20) / 4 / 1_000_000 }]);
  });

  it("lines that are refused, that the provider failed at, or did not call, fail one by one", async () => {
    const results = await Promise.all(ask(await newArm(), ["good", "refuse this", "busy now", "expire here"]));
    expect(results).toMatchObject([
      { kind: "answer" },
      { code: "request_rejected", retriable: false },
      { code: "endpoint_unavailable", retriable: true },
      { code: "endpoint_unavailable", message: expect.stringContaining("expired") as string },
    ]);
  });

  it("after a crash the lines are found at the provider, and none is submitted again", async () => {
    provider.hold(true);
    const first = await newArm();
    const before = ask(first, ["one", "two", "three"]);
    await submitted();
    await first.close();
    expect(await Promise.all(before)).toMatchObject([
      { code: "cancelled" },
      { code: "cancelled" },
      { code: "cancelled" },
    ]);
    const results = Promise.all(ask(await newArm(), ["three", "one", "two", "four"]));
    await vi.waitFor(() => expect(lines()).toHaveLength(4), 10_000);
    provider.hold(false);
    expect(await results).toMatchObject(["three", "one", "two", "four"].map((q) => ({ text: `batch: ${q}` })));
    expect(new Set(lines()).size).toBe(4);
  });

  it("finds a batch among those of others, and one that has ended meanwhile", async () => {
    const others = await Promise.all(Array.from({ length: 5 }, (_, i) => newArm({ name: `other-${i}` })));
    await Promise.all(others.flatMap((arm, i) => ask(arm, [`of other ${i}`])));
    await Promise.all(ask(await newArm(), ["one"]));
    expect(await Promise.all(ask(await newArm(), ["one"]))).toMatchObject([{ text: "batch: one" }]);
    expect(lines()).toHaveLength(6);
  });

  it("a creation whose answer is lost is not repeated", async () => {
    provider.dropNext();
    expect(await Promise.all(ask(await newArm(), ["one", "two"]))).toMatchObject([
      { kind: "answer" },
      { kind: "answer" },
    ]);
    expect(lines()).toHaveLength(2);
  });

  it("a batch whose lines were all taken back is cancelled; one with a line that is wanted goes on", async () => {
    provider.hold(true);
    const arm = await newArm();
    const back = new AbortController();
    const [kept] = ask(arm, ["kept"]);
    const taken = ask(arm, ["one", "two"], back.signal);
    await submitted();
    back.abort(TAKEN_BACK);
    await Promise.all(taken);
    provider.hold(false);
    expect(await kept).toMatchObject({ text: "batch: kept" });
    provider.hold(true);
    const more = new AbortController();
    const all = ask(arm, ["three", "four"], more.signal);
    await vi.waitFor(() => expect(provider.submitted()).toHaveLength(2), 10_000);
    more.abort(TAKEN_BACK);
    expect(await Promise.all(all)).toMatchObject([{ code: "cancelled" }, { code: "cancelled" }]);
    await vi.waitFor(() => expect(provider.statuses()).toEqual(["completed", "cancelled"]), 10_000);
  });

  it("a batch that takes too long is cancelled; what it has answered counts", async () => {
    provider.hold(true);
    const results = await Promise.all(ask(await newArm({}, 1), ["one", "two"]));
    expect(results).toMatchObject([{ text: "batch: one" }, { code: "endpoint_unavailable", retriable: true }]);
    expect(provider.statuses()).toEqual(["cancelled"]);
  });

  it("a line whose time ends soon is not submitted", async () => {
    const result = await (await newArm()).answer(asked("late", Date.now() + hours / 2), new AbortController().signal);
    expect(result).toMatchObject({ code: "endpoint_unavailable", retriable: true });
    expect(lines()).toEqual([]);
  });

  it("an endpoint without batches fails at once; one that is away is tried again", async () => {
    provider.refuse(404);
    expect(await Promise.all(ask(await newArm(), ["one"]))).toMatchObject([{ kind: "failure" }]);
    const before = provider.refused();
    provider.refuse(503);
    const results = Promise.all(ask(await newArm(), ["two"]));
    await vi.waitFor(() => expect(provider.refused()).toBeGreaterThan(before + 1), 20_000);
    provider.refuse(undefined);
    expect(await results).toMatchObject([{ text: "batch: two" }]);
    expect(lines()).toHaveLength(1);
  });

  it("what a batch that has expired did not answer fails as the arm's own failure", async () => {
    provider.expireNext(1);
    const results = await Promise.all(ask(await newArm(), ["one", "two"]));
    expect(results.map(({ kind }) => kind)).toEqual(["answer", "failure"]);
    expect(results[1]).toMatchObject({
      code: "endpoint_unavailable",
      message: expect.stringContaining("expired") as string,
    });
  });
});

describe("an arm of OpenAI's batches", () => {
  beforeEach(() => void (type = "openai"));

  it.each([
    ["failed", () => provider.fail("token_limit_exceeded"), ["failure", "failure"], "token_limit_exceeded"],
    ["expired", () => provider.expireNext(1), ["answer", "failure"], "batch_expired"],
  ])("what a batch that has %s did not answer fails as the arm's own failure", async (_status, prepare, kinds, why) => {
    prepare();
    const results = await Promise.all(ask(await newArm(), ["one", "two"]));
    expect(results.map(({ kind }) => kind)).toEqual(kinds);
    expect(results[1]).toMatchObject({ code: "endpoint_unavailable", message: expect.stringContaining(why) as string });
  });

  it("takes each line's own first result from what else the results have", async () => {
    provider.distort((line) => [
      ...["", "{ no JSON", "null", "[]", '{"custom_id":7}', `{"custom_id":"${"0".repeat(40)}","response":null}`],
      ...[`{"pad":"${"x".repeat(17 * 1_048_576)}"}`, line, line.replace("batch: ", "again: ")],
    ]);
    expect(await Promise.all(ask(await newArm(), ["one", "two"]))).toMatchObject([
      { text: "batch: one" },
      { text: "batch: two" },
    ]);
  });

  it.each([
    ["an error in its place", { choices: [], error: { message: "failed", code: "server_error" } }],
    ["an error beside it", { choices: [{ index: 0, message: { content: "a" }, finish_reason: "error" }] }],
    ["no choices", { choices: [] }],
    ["a body that is text", null],
  ])("what the provider charged for an answer with %s is spent", async (_name, part) => {
    const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
    provider.distort((line) => {
      const value = JSON.parse(line) as { response: { body: unknown } };
      value.response.body = part === null ? "text" : { object: "chat.completion", usage, ...part };
      return [JSON.stringify(value)];
    });
    const [result] = await Promise.all(ask(await newArm(), ["one"]));
    expect(result).toMatchObject({ kind: "failure", attempts: 1 });
    const spent = { cost: (1_000 * 10 + 100 * 20) / 2 / 1_000_000, calls: 1 };
    expect(result).toMatchObject(part === null ? {} : { spent });
  });

  it("an answer whose file is gone fails as the arm's own failure", async () => {
    await Promise.all(ask(await newArm(), ["one"]));
    provider.deleteFiles("results");
    const results = await Promise.all(ask(await newArm(), ["one"]));
    expect(results).toMatchObject([{ code: "endpoint_unavailable", retriable: true }]);
  });

  it("a batch whose input file is gone is known by its results, and stops no other line", async () => {
    await Promise.all(ask(await newArm(), ["one"]));
    provider.deleteFiles("input");
    expect(await Promise.all(ask(await newArm(), ["one", "two"]))).toMatchObject([
      { text: "batch: one" },
      { text: "batch: two" },
    ]);
    expect(lines()).toHaveLength(2);
  });

  it("another tenant's words in an error of the whole batch are not passed on", async () => {
    provider.fail("the prompt: 'secret'\n");
    const [result] = await Promise.all(ask(await newArm(), ["one"]));
    expect(result).toMatchObject({ message: expect.not.stringContaining("See the code") as string });
  });
});

describe("an arm of Anthropic's batches", () => {
  beforeEach(() => void (type = "anthropic"));
  const minutes = 60_000;
  const idOf = (question: string): string => hash("sha256", requestKey("acme", question)).slice(0, 16);
  /** A process died when it had recorded the line, and before it knew the batch. */
  const recorded = (question: string, ageMs: number): void => {
    const id = `record of ${question}`;
    const lines = Buffer.from(idOf(question), "hex");
    records.set(id, { id, arm: "night", lines, batch: null, createdAt: Date.now() - ageMs });
  };

  it("submits a line again whose batch was never created, once that is sure", async () => {
    recorded("one", 10 * minutes);
    expect(await Promise.all(ask(await newArm(), ["one"]))).toMatchObject([{ text: "batch: one" }]);
    expect(lines()).toHaveLength(1);
    expect([...records.values()].map(({ batch }) => batch)).toEqual(["batch_1"]);
  });

  it("waits while a batch of the same size may be the line's own, and submits it when it was not", async () => {
    recorded("one", 3 * minutes);
    provider.hold(true);
    provider.addForeign(1);
    const found = Promise.all(ask(await newArm(), ["one", "two"]));
    // The line beside it goes its way.
    await vi.waitFor(() => expect(lines()).toHaveLength(2), 10_000);
    expect(records.has("record of one")).toBe(true);
    provider.hold(false);
    expect(await found).toMatchObject([{ text: "batch: one" }, { text: "batch: two" }]);
    expect(lines()).toHaveLength(3);
    expect(provider.statuses()).not.toContain("cancelled");
  });

  it("leaves a line to another arm, and cancels nothing, when it stays in doubt for too long", async () => {
    recorded("one", 3 * minutes);
    provider.hold(true);
    provider.addForeign(1);
    const found = await Promise.all(ask(await newArm({}, 1), ["one"]));
    expect(found).toMatchObject([{ code: "endpoint_unavailable", retriable: true }]);
    expect(provider.statuses()).toEqual(["in_progress"]);
  });
});
