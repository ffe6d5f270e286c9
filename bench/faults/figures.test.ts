// What the figures say of runs in which something went wrong.
import { expect, it } from "vitest";
import { figuresOf, type Stint } from "./figures.ts";

const stint = (seconds: readonly (number | null)[], outcome: Partial<Stint["outcome"]> = {}): Stint => ({
  recoveries: seconds.map((recovery_s) => ({
    fault: "kill kafka",
    lasted_s: 3,
    recovery_s,
    stalled: recovery_s === null || recovery_s > 30,
  })),
  outcome: { issued: 100, lost: 0, doubled: 0, refused: 0, looks: 9, violations: [], ...outcome },
});

it("adds up the stints", () => {
  expect(figuresOf([stint([2, 4]), stint([6], { lost: 1, doubled: 2, violations: ["v"] })])).toMatchObject({
    ...{ kills: 3, stalls: 0, lost: 1, doubled: 2, recovery_p50_s: 4, recovery_max_s: 6 },
    ...{ requests: 200, violations: ["v"] },
  });
});

it("a stall for good is the longest recovery, which has no number", () => {
  expect(figuresOf([stint([2, 40, null])])).toMatchObject({ stalls: 2, recovery_p50_s: 40, recovery_max_s: null });
});
