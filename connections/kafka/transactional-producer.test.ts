// What becomes of a transaction at each error, on a client that is played.
import type { Kafka as KafkaClient } from "kafkajs";
import { describe, expect, test } from "vitest";
import { patchErrors, errorOfCode } from "./kafkajs-errors.ts";
import { createTransactionalProducer } from "./transactional-producer.ts";

patchErrors();
const codes = { invalidEpoch: 47, concurrent: 51, illegalGeneration: 22, fenced: 90, abortable: 120 };
type Step = "offsets" | "records" | "commit" | "abort";

/** Fails with these errors in turn, then succeeds. */
function play(failures: Partial<Record<Step, number[]>>) {
  const did: string[] = [];
  const step = async (name: Step): Promise<void> => {
    did.push(name);
    const code = failures[name]?.shift();
    if (code !== undefined) throw errorOfCode(code);
  };
  let first = true;
  const producer = () => ({
    connect: async () => void did.push("new"),
    disconnect: async () => undefined,
    async transaction() {
      if (did.at(-1) === "new") return { abort: async () => undefined };
      return {
        sendOffsets: () => step("offsets"),
        sendBatch: () => step("records"),
        commit: () => step("commit"),
        abort: () => step("abort"),
      };
    },
  });
  const its = createTransactionalProducer({ producer } as unknown as KafkaClient, {
    ...{ transactionalId: "id", transactionTimeoutMs: 1_000 },
  });
  const transact = async (): Promise<unknown> => {
    if (first) await its.initialise();
    first = false;
    did.push("begin");
    return its
      .transact({
        group: "g",
        member: { id: "m", generation: 1 },
        offsets: [{ topic: "in", partitions: [{ partition: 0, offset: "1", metadata: null }] }],
        messages: [{ topic: "out", key: "k", value: Buffer.from("v") }],
      })
      .catch((error: unknown) => error);
  };
  return { did, transact };
}
const since = (did: string[]): string[] => did.slice(did.lastIndexOf("begin") + 1);

describe("an error of the offsets", () => {
  test("a coordinator that is busy is asked again", async () => {
    const { did, transact } = play({ offsets: [codes.concurrent, codes.concurrent] });
    expect(await transact()).toBeUndefined();
    expect(since(did)).toEqual(["offsets", "offsets", "offsets", "records", "commit"]);
  });
  test.each([
    ["abortable", false],
    ["illegalGeneration", true],
  ] as const)("%s: nothing is written, it is aborted, and the producer goes on", async (code, fenced) => {
    const { did, transact } = play({ offsets: [codes[code]] });
    expect(await transact()).toMatchObject({ name: "TransactionAborted", fenced });
    expect(since(did)).toEqual(["offsets", "abort"]);
    expect(await transact()).toBeUndefined();
  });
  test.each(["invalidEpoch", "fenced"] as const)("%s: the producer is of no use any more", async (code) => {
    const { did, transact } = play({ offsets: [codes[code]] });
    expect(await transact()).toMatchObject({ name: "TransactionOutcomeUnknown" });
    expect(since(did)).toEqual(["offsets"]);
    expect(await transact()).toMatchObject({ name: "TransactionOutcomeUnknown" });
  });
});

test("abortable at the records: aborted, and a new producer, as after any refusal", async () => {
  const { did, transact } = play({ records: [codes.abortable] });
  expect(await transact()).toMatchObject({ name: "TransactionAborted", fenced: false });
  expect(since(did)).toEqual(["offsets", "records", "abort", "new"]);
});

test.each(["abortable", "fenced", "concurrent"] as const)("%s at the commit: the outcome is unknown", async (code) => {
  const { did, transact } = play({ commit: [codes[code]] });
  expect(await transact()).toMatchObject({ name: "TransactionOutcomeUnknown" });
  expect(since(did)).toEqual(["offsets", "records", "commit"]);
});

test("an abort that is refused leaves no producer", async () => {
  const { transact } = play({ offsets: [codes.abortable], abort: [codes.fenced] });
  expect(await transact()).toMatchObject({ name: "TransactionOutcomeUnknown" });
  expect(await transact()).toMatchObject({ name: "TransactionOutcomeUnknown" });
});
