import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { mostMessageBytes, type RawRecord } from "../connections/kafka/port.ts";
import { deadLetterRecord } from "./dead-letter.ts";

const [at, why] = [
  { topic: "t", partition: 1, offset: 7 },
  { stage: "plan", code: "undecodable", reason: "no Avro" },
];
const raw = (record: Partial<RawRecord>): RawRecord => ({
  ...{ offset: 7, key: null, value: null, headers: {}, timestamp: 5 },
  ...record,
});
const letter = (record: Partial<RawRecord>, bare?: boolean) => deadLetterRecord(raw(record), at, why, 9, bare);

it("keeps a record whole, its headers in order where an object can't say them", () => {
  const [key, value, h] = [Buffer.from("k"), Buffer.from("v"), Buffer.from("h")];
  expect(letter({ key, value, headers: { h } })).toMatchObject({
    ...{ key, value, headers: { h }, headerList: [], firstOffset: null, fullBytes: null, fullSha256: null },
  });
  const headerList = [
    ["h", null],
    ["h", h],
  ] as const;
  expect(letter({ headers: { h }, headerList }).headerList).toEqual([
    { name: "h", value: null },
    { name: "h", value: h },
  ]);
  const named = Object.assign(Object.create(null) as Record<string, Buffer>, { a: h });
  Object.defineProperty(named, "__proto__", { value: h, enumerable: true });
  expect(letter({ headers: named }).headerList).toEqual([
    { name: "a", value: h },
    { name: "__proto__", value: h },
  ]);
});

it("names the offsets of a batch that can't be read", () => {
  const unreadable = { first: 3, code: "broken_checksum", reason: "it is broken" };
  expect(letter({ unreadable, value: Buffer.from("batch") })).toMatchObject({ firstOffset: 3, offset: 7 });
});

it.each([
  ["value", { value: Buffer.alloc(mostMessageBytes, 1) }],
  ["key", { key: Buffer.alloc(mostMessageBytes / 2, 1) }],
  ["headers", { headers: { h: Buffer.alloc(mostMessageBytes, 1) } }],
])("cuts off one whose %s is too large, and fits then", (_part, record: Partial<RawRecord>) => {
  const { key, value, headers, fullBytes, fullSha256 } = letter(record);
  const size = [key, key, value, ...Object.values(headers)].reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0);
  expect(size).toBeLessThan(2 * 1024 * 1024);
  expect(fullBytes).toBeGreaterThanOrEqual(mostMessageBytes / 2);
  const whole = record.value ?? null;
  expect(fullSha256).toBe(whole === null ? null : createHash("sha256").update(whole).digest("hex"));
});

it("has none of the record's bytes where the broker takes none, but says what they were", () => {
  const [key, value, h] = [Buffer.from("k"), Buffer.from("v"), Buffer.from("h")];
  expect(letter({ key, value, headers: { h } }, true)).toMatchObject({
    ...{ key: null, value: null, headers: {}, headerList: [], fullBytes: 4 },
    fullSha256: createHash("sha256").update(value).digest("hex"),
  });
});
