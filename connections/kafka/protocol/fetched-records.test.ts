// What can't be read stands at its last offset and says why; everything else is read, and every
// offset is passed once, in as many answers as the budget makes of it.
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  answerWith,
  batchBytes,
  compressors,
  plainBatch,
  plainRecord,
  withChecksum,
  zstdFrame,
} from "./batches.testing.ts";
import { decodeFetched } from "./fetched.ts";

const ample = { bytes: 1e7, records: 1e5, batch: 1e7 };
async function read(answer: Buffer, { wanted = 0, budget = ample, turn = 0 } = {}) {
  const fetched = await decodeFetched(answer, { wanted: () => wanted, budget: { ...budget }, turn });
  return fetched.responses[0]!.partitions.map(({ partition, messages }) => ({
    partition,
    seen: messages.map(({ offset, value, isControlRecord, unreadable }) =>
      unreadable !== undefined
        ? `${unreadable.code} ${unreadable.first}-${offset}`
        : isControlRecord
          ? `passed ${offset}`
          : `${offset} ${value?.toString() ?? "null"}`,
    ),
  }));
}
const seen = async (bytes: Buffer, options = {}): Promise<string[]> =>
  (await read(answerWith(bytes), options))[0]?.seen ?? [];
const [before, after] = [
  batchBytes(plainBatch(0, [Buffer.from("a"), Buffer.from("b")])),
  batchBytes(plainBatch(5, [Buffer.from("z")])),
];
const three = plainBatch(2, [Buffer.from("c"), Buffer.from("d"), Buffer.from("e")]);

const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 0xff;
  return copy;
};
test.each([
  ["a codec that Kafka does not have", batchBytes({ ...three, attributes: 6 }), "unknown_codec"],
  ["bytes that no codec wrote", batchBytes({ ...three, attributes: 4 }, Buffer.from("nothing")), "corrupt_batch"],
  ["a checksum that is not its own", flipped(batchBytes(three), 70), "broken_checksum"],
  ["a count that is damaged", flipped(batchBytes(three), 60), "broken_checksum"],
  ["a last offset that is damaged", flipped(batchBytes(three), 24), "broken_checksum"],
  ["the format of Kafka 0.10", flipped(batchBytes(three), 16), "unknown_format"],
  ["records that end behind it", withChecksum(flipped(batchBytes(three), 61)), "corrupt_batch"],
  [
    "more than the bound",
    batchBytes({ ...three, attributes: 4 }, zstdFrame([{ byte: 0, times: 1e6 }])),
    "batch_too_large",
  ],
  [
    "a header without a name",
    batchBytes({ ...three, records: [{ ...plainRecord(2, null), headers: [{ name: null, value: null }] }] }),
    "corrupt_batch",
  ],
])("%s: its offsets are named, and what follows is read", async (_what, damaged, code) => {
  const budget = { ...ample, batch: 500_000 };
  expect(await seen(Buffer.concat([before, damaged, after]), { budget })).toEqual(["0 a", "1 b", `${code} 2-4`, "5 z"]);
});

test("where nothing follows, a damaged head is believed if its own figures agree; else it passes one offset", async () => {
  expect(await seen(flipped(batchBytes(three), 70), { wanted: 2 })).toEqual(["passed 2", "broken_checksum 2-4"]);
  expect(await seen(flipped(batchBytes(three), 24), { wanted: 2 })).toEqual(["broken_checksum 2-2"]);
  // The broker gives the batch again for an offset inside of it.
  expect(await seen(flipped(batchBytes(three), 24), { wanted: 3 })).toEqual(["broken_checksum 3-3"]);
});

test("the first batch of an answer is whole, so one that is not is damaged; a later one comes again", async () => {
  const cut = batchBytes(three).subarray(0, -5);
  expect(await seen(cut, { wanted: 2 })).toEqual(["passed 2", "truncated_batch 2-4"]);
  expect(await seen(Buffer.concat([before, cut]))).toEqual(["0 a", "1 b"]);
  expect((await read(answerWith(before, cut)))[1]).toEqual({ partition: 1, seen: [] });
});

test("another partition is read whatever one holds", async () => {
  const [first, second] = await read(answerWith(batchBytes({ ...three, attributes: 7 }), after));
  expect(first?.seen).toEqual(["passed 0", "unknown_codec 2-4"]);
  expect(second?.seen).toEqual(["passed 0", "5 z"]);
});

test("offsets that compaction has emptied are passed at once", async () => {
  const empty = batchBytes({ ...plainBatch(0, []), lastOffsetDelta: 4 });
  expect(await seen(empty)).toEqual(["passed 0", "passed 4"]);
  expect(await seen(Buffer.concat([empty, after]))).toEqual(["passed 0", "passed 4", "5 z"]);
  const tail = { ...three, lastOffsetDelta: 9 };
  expect(await seen(batchBytes(tail), { wanted: 2 })).toEqual(["2 c", "3 d", "4 e", "passed 11"]);
  expect(await seen(batchBytes(tail), { wanted: 6 })).toEqual(["passed 6", "passed 11"]);
});

test("records in front of the offset that was asked for are left out", async () => {
  expect(await seen(batchBytes({ ...three, attributes: 3 }), { wanted: 4 })).toEqual(["4 e"]);
});

test("whatever the budget, every record is read once and every partition gets on", async () => {
  const values = fc.array(
    fc.array(fc.constantFrom("x", "y".repeat(400), "z".repeat(3_000)), { minLength: 1, maxLength: 5 }),
    { minLength: 1, maxLength: 4 },
  );
  const logs = fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), values), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(logs, fc.integer({ min: 1, max: 5 }), async (partitions, records) => {
      const written = partitions.map(([codec, batches]) => {
        let next = 0;
        return batches.map((batch) => {
          const first = next;
          next += batch.length;
          return {
            last: next - 1,
            bytes: batchBytes(
              plainBatch(
                first,
                batch.map((one) => Buffer.from(one)),
                codec,
              ),
            ),
          };
        });
      });
      const [positions, got] = [partitions.map(() => 0), partitions.map((): string[] => [])];
      // 15,000 bytes: the largest batch that there is.
      const rounds = partitions.length * 25;
      for (let turn = 0; turn < rounds; turn++) {
        const answer = answerWith(
          ...written.map((log, partition) =>
            Buffer.concat(log.filter(({ last }) => last >= positions[partition]!).map(({ bytes }) => bytes)),
          ),
        );
        const fetched = await decodeFetched(answer, {
          wanted: (_topic, partition) => positions[partition]!,
          budget: { bytes: 16_000, records, batch: 16_000 },
          turn,
        });
        for (const { partition, messages } of fetched.responses[0]!.partitions)
          for (const { offset, value } of messages) {
            got[partition]!.push(value!.toString());
            expect(Number(offset)).toBe(positions[partition]!++);
          }
      }
      expect(got).toEqual(partitions.map(([, batches]) => batches.flat()));
    }),
    { numRuns: 30 },
  );
});

test("names of any kind, values of none, and times that no clock has", async () => {
  const headers = ["__proto__", "constructor", "a", "a", ""].map((name, index) => ({
    name: Buffer.from(name),
    value: index % 2 === 0 ? null : Buffer.from([index]),
  }));
  const one = { ...plainRecord(0, null), timestampDelta: 2 ** 52, headers };
  const fetched = await decodeFetched(
    answerWith(batchBytes({ ...plainBatch(0, []), firstTimestamp: 2n ** 63n - 1n, records: [one] })),
    { wanted: () => 0, budget: { ...ample }, turn: 0 },
  );
  const [message] = fetched.responses[0]!.partitions[0]!.messages;
  expect(message?.headers).toEqual(headers.map(({ name, value }) => [name.toString(), value]));
  expect(Number(message?.timestamp)).toBeGreaterThan(2 ** 62);
});

test("every codec is read as what is not compressed is", async () => {
  for (const codec of Object.keys(compressors).map(Number))
    expect(await seen(batchBytes({ ...three, attributes: codec }), { wanted: 2 })).toEqual(["2 c", "3 d", "4 e"]);
});
