// Our Produce beside kafkajs' own: the same bytes for whatever a producer may send.
import fc from "fast-check";
import { expect, test } from "vitest";
import { internals } from "../kafkajs-internals.ts";
import { encodeProduce, type ProduceBody } from "./produce.ts";

interface Built {
  request: { encode(): Promise<{ buffer: Buffer }> };
}
const kafkajs = (body: ProduceBody) =>
  (
    internals.requests<ProduceBody>("produce").protocol({ version: 7 })({ ...body, compression: 0 } as never) as Built
  ).request
    .encode()
    .then(({ buffer }) => buffer);

const field = fc.option(
  fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  ),
);
const header = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
);
const headers = fc.dictionary(fc.string(), fc.oneof(header, fc.array(header, { maxLength: 3 })), { maxKeys: 3 });
// All with the same number of digits: kafkajs sorts timestamps as texts.
const timestamp = fc.integer({ min: 1_500_000_000_000, max: 4_000_000_000_000 }).map(String);
const messages = fc.array(
  fc.record({ key: field, value: field, headers, timestamp }, { requiredKeys: ["value", "timestamp"] }),
  { minLength: 1, maxLength: 5 },
);
const partition = fc.record({ partition: fc.nat(1_000), firstSequence: fc.nat(2 ** 31 - 1), messages });
const body: fc.Arbitrary<ProduceBody> = fc.record({
  transactionalId: fc.option(fc.string({ minLength: 1 })),
  acks: fc.constantFrom(-1, 1),
  timeout: fc.nat(100_000),
  producerId: fc.bigInt(-1n, 2n ** 62n).map(String),
  producerEpoch: fc.nat(32_767),
  topicData: fc.array(fc.record({ topic: fc.string(), partitions: fc.array(partition, { maxLength: 3 }) }), {
    maxLength: 3,
  }),
});

test("writes what kafkajs writes", async () => {
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      expect(encodeProduce(sent, 0).equals(await kafkajs(sent))).toBe(true);
    }),
  );
});

test("a message without a time has the present one, and no producer is -1", async () => {
  const now = Date.now();
  const sent: ProduceBody = {
    ...{ acks: -1, timeout: 1 },
    topicData: [{ topic: "t", partitions: [{ partition: 0, messages: [{ value: "v" }, { value: "w" }] }] }],
  };
  const timed = {
    ...sent,
    topicData: [
      {
        topic: "t",
        partitions: [
          {
            partition: 0,
            firstSequence: 0,
            messages: [
              { value: "v", timestamp: String(now) },
              { value: "w", timestamp: String(now) },
            ],
          },
        ],
      },
    ],
  };
  expect(encodeProduce(sent, now).equals(await kafkajs(timed))).toBe(true);
});

test("a batch of many records, and a long one", async () => {
  const many = Array.from({ length: 3_000 }, (_, i) => ({
    key: `k${i}`,
    value: Buffer.alloc(i % 300, i),
    timestamp: "1700000000000",
  }));
  const sent: ProduceBody = {
    ...{ transactionalId: "id", acks: -1, timeout: 30_000, producerId: "12", producerEpoch: 3 },
    topicData: [
      {
        topic: "t",
        partitions: [
          { partition: 1, firstSequence: 7, messages: many },
          {
            partition: 2,
            firstSequence: 0,
            messages: [{ value: Buffer.alloc(3_000_000, "x"), timestamp: "1700000000000" }],
          },
        ],
      },
    ],
  };
  expect(encodeProduce(sent, 0).equals(await kafkajs(sent))).toBe(true);
});
