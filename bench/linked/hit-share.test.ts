import { expect, it } from "vitest";
import { hitShares } from "./hit-share.ts";

it("counts tokens of examples shown or built before", () => {
  const lengths = [10, 30];
  const stream = Array.from({ length: 12 }, (_, i) => ({ shown: i < 10 ? [0] : [0, 1] }));
  // The first of ten finds nothing; of the last two, the first finds one of both.
  expect(hitShares(stream, lengths, new Set())).toEqual([
    { requests: 10, share: 0.9, share_all: 0.9 },
    { requests: 12, share: 0.625, share_all: 0.7778 },
  ]);
  expect(hitShares(stream, lengths, new Set([0, 1])).map(({ share }) => share)).toEqual([1, 1]);
});
