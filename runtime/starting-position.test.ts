import { expect, test } from "vitest";
import { unknownOrigin } from "../algorithms/identity/origin.ts";
import type { CommittedOffset } from "../connections/kafka/port.ts";
import { encodeFinished } from "./finished-offsets.ts";
import { startOf } from "./starting-position.ts";

const [ours, theirs] = [
  { cluster: "c", topicId: "t" },
  { cluster: "c", topicId: "u" },
];
const committed = (more: Partial<CommittedOffset>): CommittedOffset => ({
  ...{ topic: "in", partition: 0, offset: 60, metadata: "", beginning: 10, end: 100, origin: ours, current: ours },
  ...more,
});

test.each([
  ["as it was committed", {}, { base: 60, finished: [] }],
  ["with what was finished beyond", { metadata: encodeFinished([2, 5]) }, { base: 60, finished: [62, 65] }],
  ["at the end", { end: 60 }, { base: 60, finished: [] }],
  ["at the beginning where nothing was committed", { offset: undefined }, { base: 10, finished: [] }],
  [
    "at the beginning where retention has overtaken it",
    { beginning: 70 },
    { base: 70, finished: [], surprise: "retention" },
  ],
  ["at the true end where the log lost its own", { end: 50 }, { base: 50, finished: [], surprise: "truncated" }],
  [
    "without the finished ones that the log has lost",
    { metadata: encodeFinished([2, 5]), end: 64 },
    { base: 60, finished: [62], surprise: "truncated" },
  ],
  [
    "at the beginning of a topic that was made again, however plausible the offset",
    { current: theirs, metadata: encodeFinished([2]) },
    { base: 10, finished: [], surprise: "another_topic" },
  ],
  ["of a version that wrote no origin", { origin: unknownOrigin, current: theirs }, { base: 60, finished: [] }],
] satisfies [string, Partial<CommittedOffset>, object][])("goes on %s", (_what, more, start) => {
  expect(startOf(committed(more))).toEqual(start);
});
