import { describe, expect, test } from "vitest";
import { withoutAborted } from "./kafkajs-aborted.ts";
import { internals } from "./kafkajs-internals.ts";
import "./kafkajs.ts";

describe("a broker that is too old for exactly-once", () => {
  test.each([
    ["txnOffsetCommit", "TxnOffsetCommit", 3],
    ["offsetFetch", "OffsetFetch", 7],
  ])("is refused at %s", (request, name, needed) => {
    const { protocol, versions } = internals.requests(request);
    expect(versions).toEqual([String(needed)]); // nothing older is left to fall back to
    expect(() => protocol({ version: needed - 1 })).toThrow(
      `the broker speaks ${name} only up to version ${needed - 1}`,
    );
    expect(() => protocol({ version: needed - 1 })).toThrow("use Kafka 2.5 or newer");
    expect(protocol({ version: needed })).toBeTypeOf("function");
  });
});

describe("the filter for aborted records", () => {
  const record = (offset: number, producer: number) => message(offset, producer, `p${producer}`, false);
  const abort = (offset: number, producer: number) => message(offset, producer, "\0\0\0\0", true);
  const commit = (offset: number, producer: number) => message(offset, producer, "\0\0\0\x01", true);
  function message(offset: number, producer: number, key: string, isControlRecord: boolean) {
    const batchContext = { producerId: String(producer), inTransaction: true };
    return { offset: String(offset), key: Buffer.from(key), isControlRecord, batchContext };
  }
  const aborted = (producer: number, first: number) => ({ producerId: String(producer), firstOffset: String(first) });
  const offsets = (messages: ReturnType<typeof message>[], list: ReturnType<typeof aborted>[] | null): number[] =>
    withoutAborted({ messages, abortedTransactions: list })
      .filter(({ isControlRecord }) => !isControlRecord)
      .map(({ offset }) => Number(offset));

  test("drops all of overlapping aborted transactions, listed in the order of their ends", () => {
    const log = [
      record(0, 2),
      record(1, 1),
      abort(2, 1),
      record(3, 2),
      abort(4, 2),
      record(5, 1),
      commit(6, 1),
      record(7, 2),
    ];
    expect(offsets(log, [aborted(1, 1), aborted(2, 0)])).toEqual([5, 7]);
  });

  test("a transaction that began before what was fetched counts as well, two of one producer each for itself", () => {
    const log = [record(10, 1), abort(11, 1), record(12, 1), commit(13, 1), record(14, 1), abort(15, 1)];
    expect(offsets(log, [aborted(1, 14), aborted(1, 3)])).toEqual([12]);
  });

  test("records outside transactions stay, and without aborted transactions everything does", () => {
    const plain = { ...record(1, 1), batchContext: { producerId: "1", inTransaction: false } };
    expect(offsets([record(0, 1), plain, abort(2, 1)], [aborted(1, 0)])).toEqual([1]);
    expect(offsets([record(0, 1), record(1, 2)], null)).toEqual([0, 1]);
  });
});
