// The codec against bytes written by hand from Kafka's message definitions
// (ApiVersionsRequest.json, ApiVersionsResponse.json).
import { expect, test } from "vitest";
import { decodeFeatures, encodeApiVersions } from "./api-versions.ts";
import { describeAffected, levelOf } from "./lost-markers.ts";

const text = (value: string): number[] => [value.length + 1, ...Buffer.from(value)];
const int16 = (value: number): number[] => [(value >> 8) & 255, value & 255];
const feature = (name: string, lowest: number, highest: number, ...tags: number[]): number[] => [
  ...text(name),
  ...int16(lowest),
  ...int16(highest),
  ...(tags.length === 0 ? [0] : tags),
];
const tag = (number: number, value: number[]): number[] => [number, value.length, ...value];
/** Two requests' versions, one of them with an unknown tag, then the tags given. */
const answer = (...tags: number[][]): Buffer =>
  Buffer.from([
    ...int16(0),
    3,
    ...[...int16(0), ...int16(3), ...int16(11), 0],
    ...[...int16(18), ...int16(0), ...int16(4), 1, ...tag(7, [9, 9])],
    ...[0, 0, 0, 0],
    tags.length,
    ...tags.flat(),
  ]);

test("asks with an empty header tag and its name", async () => {
  const encoder = (await encodeApiVersions()) as unknown as { buffer: Buffer; size(): number };
  expect([...encoder.buffer.subarray(0, encoder.size())]).toEqual([0, ...text("precedent"), ...text("1"), 0]);
});

test("finds the supported and the finalised features between other tags, whatever they carry", () => {
  const supported = [
    3,
    ...feature("metadata.version", 7, 29, 1, ...tag(3, [1, 2, 3])),
    ...feature("kraft.version", 0, 1),
  ];
  const finalized = [
    3,
    ...feature("metadata.version", 29, 7),
    ...feature("transaction.version", 2, 1, 1, ...tag(5, [4])),
  ];
  const epoch = [0, 0, 0, 0, 0, 0, 0, 5];
  expect(decodeFeatures(answer(tag(0, supported), tag(1, epoch), tag(2, finalized)))).toEqual({
    supported: [
      { name: "metadata.version", lowest: 7, highest: 29 },
      { name: "kraft.version", lowest: 0, highest: 1 },
    ],
    finalised: new Map([
      ["metadata.version", 29],
      ["transaction.version", 2],
    ]),
  });
});

test("a broker without features, or one that does not know the version, names none; another error is one", () => {
  const none = { supported: [], finalised: new Map() };
  expect(decodeFeatures(answer())).toEqual(none);
  expect(decodeFeatures(Buffer.from([...int16(35), 0, 0, 0, 0]))).toEqual(none);
  expect(() => decodeFeatures(Buffer.from([...int16(29), 0]))).toThrow(/authoriz/i);
});

test.each([
  ["an old broker without features", undefined, false],
  ["4.2-IV1", 29, false],
  ["4.3-IV0", 30, true],
  ["4.4-IV0", 31, true],
])("%s (metadata.version %s) loses markers: %s", (_what, highest, losesMarkers) => {
  const features = highest === undefined ? [] : [{ name: "metadata.version", lowest: 7, highest }];
  expect(levelOf("b:9092", features)).toEqual({ address: "b:9092", metadataVersion: highest, losesMarkers });
});

test("names the brokers concerned alone", () => {
  const level = (address: string, highest: number) =>
    levelOf(address, [{ name: "metadata.version", lowest: 7, highest }]);
  expect(describeAffected([level("a:1", 29)])).toBeUndefined();
  expect(describeAffected([level("a:1", 29), level("b:2", 30)])).toMatch(/^b:2: .*KAFKA-20734/);
});
