import { expect, it } from "vitest";
import { movedEnd, rangeOf } from "./range.tsx";

const range = { from: 100, until: 400 };

it.each([
  ["from", 200, 200, 400],
  ["from", 400, 400, 700],
  ["from", 900, 900, 1_200],
  ["until", 300, 100, 300],
  ["until", 100, 0, 100],
  ["until", 5, 0, 5],
] as const)("with the end %s at %i lasts from %i until %i", (name, at, from, until) => {
  expect(movedEnd(range, name, at)).toEqual({ from, until });
});

it.each(["from=2&until=1", "from=1&until=1", "from=a&until=2", "last=-1", "last=Infinity", ""])(
  "is the last day where the address says %j",
  (query) => {
    expect(rangeOf(new URLSearchParams(query), 86_405_000)).toEqual({ from: 10_000, until: 86_410_000, isLive: true });
  },
);
