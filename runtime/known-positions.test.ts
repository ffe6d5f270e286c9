import { expect, it } from "vitest";
import type { CommittedOffset } from "../connections/kafka/port.ts";
import { createKnownPositions } from "./known-positions.ts";

const at = { topic: "requests", partition: 2 };
const origin = { cluster: "c", topicId: "t" };
const reported = (offset: number | undefined, more: Partial<CommittedOffset> = {}): CommittedOffset => ({
  ...at,
  ...{ offset, metadata: "", beginning: 0, end: 6_000, origin, current: origin },
  ...more,
});

it("goes on where this process has committed when the coordinator has forgotten it", () => {
  const known = createKnownPositions();
  known.note({ ...at, stored: { offset: 5_058, metadata: "AQ==" }, origin });
  expect(known.later(reported(983))).toMatchObject({ offset: 5_058, metadata: "AQ==" });
  expect(known.later(reported(undefined))).toMatchObject({ offset: 5_058, metadata: "AQ==" });
});

it("believes the broker of anything later, of another partition, of another topic and of a log that has lost its end", () => {
  const known = createKnownPositions();
  expect(known.later(reported(983))).toEqual(reported(983));
  known.note({ ...at, stored: { offset: 5_058, metadata: "" }, origin });
  expect(known.later(reported(5_900))).toEqual(reported(5_900));
  expect(known.later(reported(983, { partition: 3 }))).toEqual(reported(983, { partition: 3 }));
  const anew = reported(1, { current: { cluster: "c", topicId: "other" } });
  expect(known.later(anew)).toEqual(anew);
  expect(known.later(reported(983, { end: 5_000 }))).toEqual(reported(983, { end: 5_000 }));
});
