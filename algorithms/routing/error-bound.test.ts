import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createErrorWatch, upperErrorBound, watchErrors } from "./error-bound.ts";
import { splitmix64 } from "../numeric/random.ts";

const draws = (rate: number, count: number, seed: number): { wrong: boolean }[] => {
  const random = splitmix64(seed);
  return Array.from({ length: count }, () => ({ wrong: random() < rate }));
};

describe("the bound", () => {
  it("covers at every look together: the true rate exceeds it ever in at most 5 % of the runs", () => {
    for (const rate of [0.02, 0.08, 0.3]) {
      let missed = 0;
      const runs = 400;
      for (let run = 0; run < runs; run++) {
        let wrong = 0;
        const seen = draws(rate, 400, 1_000 * rate + run);
        if (
          seen.some((one, i) => {
            wrong += Number(one.wrong);
            return upperErrorBound({ cases: i + 1, wrong }, 0.95) < rate;
          })
        )
          missed++;
      }
      // 5 % and two standard errors.
      expect(missed / runs).toBeLessThan(0.05 + 2 * Math.sqrt((0.05 * 0.95) / runs));
    }
  });

  it("is 1 without cases, and 35 cases without an error bring it below a tenth", () => {
    expect(upperErrorBound({ cases: 0, wrong: 0 }, 0.95)).toBe(1);
    expect(upperErrorBound({ cases: 5, wrong: 5 }, 0.95)).toBe(1);
    expect(upperErrorBound({ cases: 32, wrong: 0 }, 0.95)).toBeGreaterThan(0.1);
    expect(upperErrorBound({ cases: 35, wrong: 0 }, 0.95)).toBeLessThan(0.1);
  });

  it("lies above what was seen, rises with errors and with confidence, and closes in on the share", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (cases, share) => {
        const wrong = Math.floor(share * cases);
        const bound = upperErrorBound({ cases, wrong }, 0.95);
        expect(bound).toBeGreaterThanOrEqual(wrong / cases);
        expect(bound).toBeLessThanOrEqual(1);
        expect(upperErrorBound({ cases, wrong }, 0.99)).toBeGreaterThanOrEqual(bound);
        if (wrong < cases) expect(upperErrorBound({ cases, wrong: wrong + 1 }, 0.95)).toBeGreaterThanOrEqual(bound);
      }),
    );
    expect(upperErrorBound({ cases: 20_000, wrong: 1_000 }, 0.95)).toBeLessThan(0.058);
  });
});

describe("the watch", () => {
  const settings = { limit: 0.1, confidence: 0.95 };

  it("covers with its alarms: a rate above the limit is ever taken for one below in at most 5 % of the runs", () => {
    let missed = 0;
    const runs = 300;
    for (let run = 0; run < runs; run++) {
      const watch = createErrorWatch(settings);
      if (
        draws(0.12, 1_500, run).some(({ wrong }) => {
          watch.add(wrong);
          return watch.now().bound <= settings.limit;
        })
      )
        missed++;
    }
    expect(missed / runs).toBeLessThan(0.05 + 2 * Math.sqrt((0.05 * 0.95) / runs));
  });

  it("raises an alarm within some cases of a change, however good the record before", () => {
    const good = draws(0.02, 5_000, 7);
    expect(watchErrors(good, settings)).toMatchObject({ alarms: 0, counted: { cases: 5_000 } });
    const poisoned = watchErrors([...good, ...Array.from({ length: 6 }, () => ({ wrong: true }))], settings);
    expect(poisoned).toMatchObject({ alarms: 1, bound: 1 });
    // The bound alone would not have moved.
    expect(upperErrorBound({ cases: 5_006, wrong: 106 }, 0.95)).toBeLessThan(0.05);
    const again = watchErrors(
      [...good, ...Array.from({ length: 6 }, () => ({ wrong: true })), ...draws(0, 200, 1)],
      settings,
    );
    expect(again.bound).toBeLessThan(0.1);
  });

  it("raises few alarms at the limit itself: 200 cases lie between two of them in the mean", () => {
    let alarms = 0;
    for (let run = 0; run < 40; run++) alarms += watchErrors(draws(0.1, 1_000, run), settings).alarms;
    expect(40_000 / alarms).toBeGreaterThan(200);
  });
});
