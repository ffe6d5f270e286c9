// Requests and answers as they went over the wire of Kafka 4.2.2: recorded once, with the names of
// that run.
import { describe, expect, test } from "vitest";
import { internals } from "../kafkajs-internals.ts";
import type { Protocol } from "./codec.ts";
import { describeProducers } from "./describe-producers.ts";
import { describeTransactions } from "./describe-transactions.ts";
import { listTransactions } from "./list-transactions.ts";
import { writeTxnMarkers } from "./write-txn-markers.ts";

const encoded = async ({ request }: Protocol<unknown>): Promise<string> =>
  ((await request.encode()) as unknown as { buffer: Buffer }).buffer.toString("hex");
const decoded = <T>({ response }: Protocol<T>, hex: string): Promise<T> => response.decode(Buffer.from(hex, "hex"));

describe("DescribeTransactions", () => {
  const ask = describeTransactions(["id786", "nobody"]);

  test("asks as the broker understood it", async () => {
    expect(await encoded(ask)).toBe("0003066964373836076e6f626f647900");
    expect(ask.request).toMatchObject({ apiKey: 65, apiVersion: 0 });
  });
  test("reads a transaction under way", async () => {
    const hex =
      "00000000000200000a69643738366f70656e084f6e676f696e670000ea60000001a20166cd42000000000000000400000208746f6c643738360200000001000000";
    expect(await decoded(ask, hex)).toEqual([
      {
        errorCode: 0,
        transactionalId: "id786open",
        state: "Ongoing",
        timeoutMs: 60_000,
        startedAt: 1_795_319_844_162,
        producerId: "4",
        epoch: 0,
        partitions: [{ topic: "told786", partitions: [1] }],
      },
    ]);
  });
  test("reads one that is complete, and an id that the coordinator does not know", async () => {
    const hex =
      "00000000000300000669643738360f436f6d706c657465436f6d6d69740000ea60000001a20166cdca0000000000000006000001000069076e6f626f64790100000000000000000000000000000000000000000000010000";
    expect(await decoded(ask, hex)).toMatchObject([
      { errorCode: 0, state: "CompleteCommit", producerId: "6", startedAt: 1_795_319_844_298, partitions: [] },
      { errorCode: 105, transactionalId: "nobody", state: "" },
    ]);
  });
});

describe("DescribeProducers", () => {
  const ask = describeProducers([{ topic: "out786", partitions: [0, 1, 7] }]);

  test("asks as the broker understood it", async () => {
    expect(await encoded(ask)).toBe("0002076f7574373836040000000000000001000000070000");
  });
  test("reads an open transaction, a partition without producers and one that there is not", async () => {
    const hex =
      "000000000002076f757437383604000000000000000200000000000000060000000000000000000001a20166ce38ffffffff000000000000000000000000000100000001000000000700030001000000";
    const open = { producerId: "6", epoch: 0, lastTimestamp: 1_795_319_844_408, coordinatorEpoch: -1, openSince: 0 };
    expect(await decoded(ask, hex)).toEqual([
      { topic: "out786", partition: 0, errorCode: 0, producers: [open] },
      { topic: "out786", partition: 1, errorCode: 0, producers: [] },
      { topic: "out786", partition: 7, errorCode: 3, producers: [] },
    ]);
  });
});

describe("ListTransactions", () => {
  test("asks for all, or for those of some producers", async () => {
    expect(await encoded(listTransactions([]))).toBe("00010100");
    expect(await encoded(listTransactions(["6"]))).toBe("000102000000000000000600");
  });
  test("reads the ids that a coordinator knows", async () => {
    const hex =
      "00000000000000010410707265636564656e742d737461636b000000000000000206456d707479000a69643738366f70656e00000000000000040e436f6d706c65746541626f72740006696437383600000000000000060f436f6d706c657465436f6d6d69740000";
    expect(await decoded(listTransactions([]), hex)).toEqual({
      errorCode: 0,
      transactions: [
        { transactionalId: "precedent-stack", producerId: "2", state: "Empty" },
        { transactionalId: "id786open", producerId: "4", state: "CompleteAbort" },
        { transactionalId: "id786", producerId: "6", state: "CompleteCommit" },
      ],
    });
  });
});

test("producer ids are 64 bits wide", async () => {
  const largest = "9223372036854775807";
  const hex = await encoded(listTransactions([largest]));
  expect(new internals.Decoder(Buffer.from(hex.slice(6, 22), "hex")).readInt64().toString()).toBe(largest);
});

describe("WriteTxnMarkers", () => {
  const marker = { producerId: "6", epoch: 0, coordinatorEpoch: 0, topic: "out786", partition: 0 };

  test("asks for a commit or an abort", async () => {
    const commit = await encoded(writeTxnMarkers([{ ...marker, outcome: "commit" }]));
    expect(commit).toBe("0002000000000000000600000102076f7574373836020000000000000000000000");
    const abort = await encoded(writeTxnMarkers([{ ...marker, outcome: "abort" }]));
    expect(abort).toBe(commit.replace("06000001", "06000000"));
  });
  test("reads what became of it", async () => {
    const ask = writeTxnMarkers([{ ...marker, outcome: "commit" }]);
    const written = "0002000000000000000602076f75743738360200000000000000000000";
    const refused = "0002000000000000000602076f75743738360200000000ffff00000000";
    const at = { producerId: "6", topic: "out786", partition: 0 };
    expect(await decoded(ask, written)).toEqual([{ ...at, errorCode: 0 }]);
    expect(await decoded(ask, refused)).toEqual([{ ...at, errorCode: -1 }]);
  });
});
