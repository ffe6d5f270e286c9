// Our reading of Fetch beside kafkajs' own: the same for whatever a broker may send uncompressed or
// in gzip. Where bytes are damaged kafkajs throws, or believes them; ours says which offsets.
import { createRequire } from "node:module";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  answerBytes,
  batchBytes,
  type WrittenBatch,
  type WrittenPartition,
  type WrittenRecord,
} from "./batches.testing.ts";
import type { BatchHead } from "./batch-head.ts";
import type { FetchedMessage } from "./fetched-message.ts";
import { decodeFetched, type Fetched } from "./fetched.ts";

const kafkajs = createRequire(import.meta.url)("kafkajs/src/protocol/requests/fetch/v11/response") as {
  decode(raw: Buffer): Promise<{ responses: { partitions: { messages: { offset: string }[] }[] }[] }>;
};
const decode = (raw: Buffer, wanted = 0): Promise<Fetched> =>
  decodeFetched(raw, { wanted: () => wanted, budget: { bytes: 1e8, records: 1e6, batch: 1e8 }, turn: 0 });

/** As kafkajs has it: no passed offsets, headers by name. */
function asKafkajs(fetched: Fetched): unknown {
  const shaped = ({ headers, batchContext, ...message }: FetchedMessage) => {
    const {
      base: _base,
      last: _last,
      codec: _codec,
      firstTime: _time,
      count: _count,
      ...context
    } = batchContext as BatchHead;
    const named: Record<string, unknown> = {};
    for (const [name, value] of headers) named[name] = name in named ? [named[name], value].flat() : value;
    return { ...message, headers: named, batchContext: context as object };
  };
  return {
    ...fetched,
    responses: fetched.responses.map(({ partitions, ...topic }) => ({
      ...topic,
      partitions: partitions.map(({ messages, ...partition }) => ({
        ...partition,
        messages: messages.filter(({ batchContext }) => batchContext.producerId !== passed).map(shaped),
      })),
    })),
  };
}
/** Code of messages that pass offsets; no batch here has it. */
const passed = "-1";

const bytes = fc.uint8Array({ maxLength: 200 }).map((values) => Buffer.from(values));
const field = fc.option(bytes);
const name = fc.constantFrom("traceparent", "a", "a", "é", "").map((text) => Buffer.from(text));
const written: fc.Arbitrary<WrittenRecord> = fc.record({
  attributes: fc.integer({ min: -128, max: 127 }),
  timestampDelta: fc.oneof(fc.constant(0), fc.integer({ min: -1000, max: 1000 }), fc.integer()),
  offsetDelta: fc.nat(10_000),
  key: field,
  value: field,
  headers: fc.option(fc.array(fc.record({ name, value: field }), { maxLength: 4 })),
});
const id = fc.oneof(fc.bigInt(0n, 5000n), fc.bigInt(0n, 2n ** 63n - 1n));
const batch: fc.Arbitrary<WrittenBatch> = fc.record({
  firstOffset: fc.oneof(fc.bigInt(0n, 5_000n), fc.bigInt(0n, 2n ** 52n)),
  epoch: fc.nat(100),
  // Appended, transactional, control; the same in gzip.
  attributes: fc.constantFrom(0, 8, 16, 24, 48, 1, 9, 17),
  firstTimestamp: fc.oneof(fc.constant(-1n), fc.bigInt(1_500_000_000_000n, 4_000_000_000_000n)),
  maxTimestamp: fc.bigInt(1_500_000_000_000n, 4_000_000_000_000n),
  producerId: id,
  producerEpoch: fc.integer({ min: -1, max: 32_767 }),
  sequence: fc.integer({ min: -1 }),
  records: fc.array(written, { maxLength: 4 }),
});
const partition = (cut: fc.Arbitrary<number>): fc.Arbitrary<WrittenPartition> =>
  fc.record({
    partition: fc.nat(1_000),
    errorCode: fc.constantFrom(0, 1, 6),
    offsets: fc.tuple(id, id, id),
    aborted: fc.option(fc.array(fc.record({ producerId: id, firstOffset: id }), { maxLength: 3 })),
    replica: fc.integer({ min: -1, max: 5 }),
    batches: fc.option(fc.array(batch, { maxLength: 3 })),
    cut,
  });
const topics = (cut: fc.Arbitrary<number>) =>
  fc.array(fc.record({ topic: fc.string(), partitions: fc.array(partition(cut), { maxLength: 3 }) }), {
    maxLength: 3,
  });
/** Without records before the position that earlier batches have reached: a log has none. */
const inOrder = (sent: { partitions: WrittenPartition[] }[]): boolean =>
  sent.every(({ partitions }) =>
    partitions.every(({ batches }) => {
      let next = 0n;
      return (batches ?? []).every(({ firstOffset, records }) => {
        const deltas = records.map(({ offsetDelta }) => offsetDelta);
        const fits = firstOffset >= next && deltas.every((delta, index) => index === 0 || delta > deltas[index - 1]!);
        next = firstOffset + BigInt(deltas.at(-1) ?? 0) + 1n;
        return fits;
      });
    }),
  );

test("reads what kafkajs reads", async () => {
  await fc.assert(
    fc.asyncProperty(topics(fc.constant(0)).filter(inOrder), async (sent) => {
      const raw = answerBytes(sent);
      expect(asKafkajs(await decode(raw))).toEqual(await kafkajs.decode(raw));
    }),
    { numRuns: 500 },
  );
});

test("an answer whose last batches are cut off holds those before, as with kafkajs", async () => {
  const [first, second] = fc.sample(
    fc.tuple(batch, batch).filter((two) => inOrder([{ partitions: [{ batches: two }] }] as never)),
    1,
  )[0]!;
  for (let cut = 1; cut <= batchBytes(second).length; cut++) {
    const one = { partition: 0, errorCode: 0, offsets: [9n, 9n, 0n], aborted: null, replica: -1 } as const;
    const raw = answerBytes([
      { topic: "t", partitions: [{ ...one, offsets: [9n, 9n, 0n], batches: [first, second], cut }] },
    ]);
    expect(asKafkajs(await decode(raw))).toEqual(await kafkajs.decode(raw));
  }
});

test("of damaged bytes it reads no record that was not written", async () => {
  await fc.assert(
    fc.asyncProperty(
      topics(fc.nat(300)).filter(inOrder),
      fc.option(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 }))),
      fc.option(fc.nat()),
      async (sent, flip, end) => {
        let raw = Buffer.from(answerBytes(sent));
        if (flip !== null) raw[flip[0] % raw.length]! ^= flip[1];
        if (end !== null) raw = raw.subarray(0, end % raw.length);
        const values = new Set(
          sent.flatMap(({ partitions }) =>
            partitions.flatMap(({ batches }) =>
              (batches ?? []).flatMap(({ records }) => records.map(({ value }) => value?.toString("hex") ?? null)),
            ),
          ),
        );
        const fetched = await decode(raw).catch((error: unknown) => {
          expect(error).toBeInstanceOf(Error);
          return { responses: [] };
        });
        for (const { messages } of fetched.responses.flatMap(({ partitions }) => partitions))
          for (const { value, unreadable, isControlRecord } of messages)
            if (unreadable === undefined && !isControlRecord) expect(values).toContain(value?.toString("hex") ?? null);
      },
    ),
    { numRuns: 2000 },
  );
});

test("keys and values are views of the answer: no bytes are copied", async () => {
  const value = Buffer.alloc(1_000, 1);
  const [whole] = fc.sample(batch, 1) as [WrittenBatch];
  const records = [{ attributes: 0, timestampDelta: 0, offsetDelta: 0, key: value, value, headers: null }];
  const one = { partition: 0, errorCode: 0, offsets: [9n, 9n, 0n], aborted: null, replica: -1, cut: 0 };
  const raw = answerBytes([
    {
      topic: "t",
      partitions: [{ ...one, offsets: [9n, 9n, 0n], batches: [{ ...whole, firstOffset: 0n, attributes: 0, records }] }],
    },
  ]);
  const message = (await decode(raw)).responses[0]?.partitions[0]?.messages[0];
  expect(message?.value?.buffer).toBe(raw.buffer);
  expect(message?.value).toEqual(value);
});
