// Requests and answers as Kafka's Java classes (4.2.2) write them.
import { describe, expect, test } from "vitest";
import { txnOffsetCommit, type FencedTopics } from "../kafkajs-fencing.ts";
import type { RawRequest } from "../kafkajs-internals.ts";
import { patchErrors } from "../kafkajs-errors.ts";
import { endTxn } from "./end-txn.ts";
import { encodeFlexibleProduce, flexibleProduce } from "./produce-flexible.ts";

const encoded = async <T>({ request }: RawRequest<T>): Promise<string> =>
  ((await request.encode()) as unknown as { buffer: Buffer }).buffer.toString("hex");
const decoded = <T>({ response }: RawRequest<T>, hex: string): Promise<T> => response.decode(Buffer.from(hex, "hex"));
/** Java writes header and body by themselves; ours are one: the header has no tagged fields. */
const header = "00";

describe("EndTxn 5", () => {
  const ask = endTxn({
    ...{ transactionalId: "p.plan.one", producerId: "4000000000123", producerEpoch: 32_766 },
    commit: true,
  });

  test("asks for a commit", async () => {
    expect(ask.request).toMatchObject({ apiKey: 26, apiVersion: 5 });
    expect(await encoded(ask)).toBe(`${header}0b702e706c616e2e6f6e65000003a35294407b7ffe0100`);
  });
  test("reads the producer to go on as, and a refusal", async () => {
    expect(await decoded(ask, `${header}000000000000000003a35294407c000000`)).toEqual({
      ...{ clientSideThrottleTime: 0, errorCode: 0, producerId: "4000000000124", producerEpoch: 0 },
    });
    expect(await decoded(ask, `${header}000000070078ffffffffffffffffffff00`)).toEqual({
      ...{ clientSideThrottleTime: 7, errorCode: 120, producerId: "-1", producerEpoch: -1 },
    });
  });
});

describe("TxnOffsetCommit 5", () => {
  const topics: FencedTopics = [
    {
      topic: "requests",
      partitions: [
        { partition: 3, offset: "70000000000", metadata: "AB" },
        { partition: 4, offset: "0", metadata: null },
      ],
    },
  ];
  topics.member = { id: "one-1", generation: 5 };
  const ask = txnOffsetCommit(5, {
    ...{ transactionalId: "p.plan.one", groupId: "p.plan", producerId: "7", producerEpoch: 2, topics },
  });

  test("asks with member and generation", async () => {
    expect(ask.request).toMatchObject({ apiKey: 28, apiVersion: 5 });
    expect(await encoded(ask)).toBe(
      `${header}0b702e706c616e2e6f6e6507702e706c616e0000000000000007000200000005066f6e652d3100020972657175657374730300000003000000104c533c00ffffffff03414200000000040000000000000000ffffffff00000000`,
    );
  });
  test("a transaction that has to be aborted is an error with a name", async () => {
    patchErrors();
    const answer = await decoded(ask, `${header}00000000020972657175657374730300000003000000000000040078000000`);
    expect(answer.codes).toEqual([{ topic: "requests", partitions: [0, 120] }]);
    expect(() => ask.response.parse(answer)).toThrow(expect.objectContaining({ type: "TRANSACTION_ABORTABLE" }));
  });
});

describe("Produce 12", () => {
  const timestamp = (n: number): string => String(1_700_000_000_000 + n);
  const body = {
    ...{ transactionalId: "p.plan.one", acks: -1, timeout: 10_000, producerId: 7n, producerEpoch: 2 },
    topicData: [
      {
        topic: "work",
        partitions: [
          {
            partition: 0,
            messages: [
              { key: "k", value: "v", timestamp: timestamp(0) },
              { value: "w", timestamp: timestamp(5) },
            ],
          },
          {
            ...{ partition: 2, firstSequence: 9 },
            messages: [{ key: "k", value: Buffer.alloc(200), timestamp: timestamp(1) }],
          },
        ],
      },
    ],
  };

  test("writes what the Java client writes", () => {
    expect(flexibleProduce(body).request).toMatchObject({ apiKey: 0, apiVersion: 12 });
    expect(encodeFlexibleProduce(body, 0).toString("hex")).toBe(
      `${header}0b702e706c616e2e6f6e65ffff000027100205776f726b03000000004f000000000000000000000042000000000213a82c450010000000010000018bcfe568000000018bcfe5680500000000000000070002000000000000000210000000026b0276000e000a0201027700000000000290020000000000000000000001030000000002a538325c0010000000000000018bcfe568010000018bcfe56801000000000000000700020000000900000001a003000000026b9003${"00".repeat(200)}00000000`,
    );
  });
  test("without a transaction and without topics", () => {
    expect(encodeFlexibleProduce({ acks: 1, timeout: 1, topicData: [] }, 0).toString("hex")).toBe(
      `${header}000001000000010100`,
    );
  });
  test("reads an answer with everything that there can be in it", async () => {
    const moved = "00000002" + "0006" + "ff".repeat(24) + "02000000000462616400" + "0f6e6f7420746865206c6561646572";
    const hex =
      `${header}0305776f726b03` +
      `0000000000000000000000000029ffffffffffffffff0000000000000000010000${moved}0100090000000200000009000` +
      `00a6465636973696f6e7302000000010078${"ff".repeat(24)}010000000000000901000d02000000020262000023840000`;
    expect(await decoded(flexibleProduce(body), hex)).toEqual({
      clientSideThrottleTime: 9,
      topics: [
        {
          topicName: "work",
          partitions: [
            { partition: 0, errorCode: 0, baseOffset: "41" },
            { partition: 2, errorCode: 6, baseOffset: "-1" },
          ],
        },
        { topicName: "decisions", partitions: [{ partition: 1, errorCode: 120, baseOffset: "-1" }] },
      ],
    });
  });
});
