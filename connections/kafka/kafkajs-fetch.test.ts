// kafkajs' own Fetch as the patch leaves it: its answers are read by us.
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { crc32c } from "../../algorithms/numeric/crc32c.ts";
import { patchFetch } from "./kafkajs-fetch.ts";
import { internals } from "./kafkajs-internals.ts";

interface Built {
  response: { decode(raw: Buffer): Promise<{ responses: { partitions: { messages: { value: Buffer }[] }[] }[] }> };
}
patchFetch();
const fetch = (version: number) =>
  internals.requests<object>("fetch").protocol({ version })({ topics: [], maxWaitTime: 1 }) as Built;

/** Attributes, no time, no further offset, no key, the value "v", no headers; its length before. */
const record = Buffer.from([14, 0, 0, 0, 1, 2, "v".charCodeAt(0), 0]);

/** An answer of one batch of one record. */
function answer(compression: number, records: Buffer): Buffer {
  const batch = Buffer.alloc(61);
  batch.writeInt32BE(49 + records.length, 8);
  batch.writeInt8(2, 16);
  batch.writeInt16BE(compression, 21);
  batch.writeInt32BE(1, 57);
  batch.writeUInt32BE(crc32c(Buffer.concat([batch, records]), 21), 17);
  const head = Buffer.alloc(10 + 4 + 3 + 4 + 30 + 4 + 4 + 4);
  head.writeInt32BE(1, 10);
  head.writeInt16BE(1, 14);
  head.write("t", 16);
  head.writeInt32BE(1, 17);
  head.writeInt32BE(batch.length + records.length, head.length - 4);
  return Buffer.concat([head, batch, records]);
}

test.each([
  ["plain", 0, record],
  ["compressed", 1, gzipSync(record)],
])("a %s batch is read", async (_what, compression, records) => {
  const decoded = await fetch(11).response.decode(answer(compression, records));
  expect(decoded.responses[0]?.partitions[0]?.messages.map(({ value }) => value.toString())).toEqual(["v"]);
});

test("other versions stay as they are", () => {
  const { decode } = fetch(11).response;
  expect(fetch(10).response.decode).toBe(fetch(10).response.decode);
  expect(fetch(11).response.decode).not.toBe(decode);
});
