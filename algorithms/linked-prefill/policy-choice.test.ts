import fc from "fast-check";
import { expect, it } from "vitest";
import { addSample, choosePolicy, memory, noRecord, upperKl, type PolicyRecord } from "./policy-choice.ts";

const after = (samples: readonly number[], share: number): PolicyRecord =>
  samples.reduce((record, kl) => addSample(record, kl, share), { ...noRecord });
const limits = { bound: 0.1, least: 5, fallback: "last-2" };

it("takes the cheapest that is good enough", () => {
  const records = new Map([
    [
      "naive",
      after(
        Array.from({ length: 20 }, () => 0.2),
        0,
      ),
    ],
    [
      "last-1",
      after(
        Array.from({ length: 20 }, () => 0.09),
        0.1,
      ),
    ],
    [
      "last-3",
      after(
        Array.from({ length: 20 }, () => 0.01),
        0.3,
      ),
    ],
  ]);
  expect(choosePolicy(records, limits)).toBe("last-1");
  expect(choosePolicy(records, { ...limits, bound: 0.05 })).toBe("last-3");
  expect(choosePolicy(records, { ...limits, bound: 0.001 })).toBe("last-2");
});

it("keeps the fallback until there are enough samples, and where the mean is not sure", () => {
  expect(choosePolicy(new Map([["naive", after([0, 0, 0], 0)]]), limits)).toBe("last-2");
  expect(choosePolicy(new Map([["naive", after([0, 0, 0, 0, 0.4, 0], 0)]]), limits)).toBe("last-2");
  expect(choosePolicy(new Map(), limits)).toBe("last-2");
});

it("forgets by halves", () => {
  const old = after(
    Array.from({ length: 1_000 }, () => 1),
    0.5,
  );
  const now = after(
    Array.from({ length: memory }, () => 0),
    0.5,
  );
  const both = Array.from({ length: memory }).reduce<PolicyRecord>((record) => addSample(record, 0, 0.5), old);
  expect(both.kl).toBeGreaterThan(now.kl);
  expect(both.kl).toBeLessThan(0.5);
  expect(both.share).toBeCloseTo(0.5, 9);
});

it("is a mean with its error, whatever the samples", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 5, noNaN: true }), { minLength: 1, maxLength: 50 }), (samples) => {
      const record = after(samples, 0.2);
      expect(record.kl).toBeGreaterThanOrEqual(Math.min(...samples) - 1e-9);
      expect(record.kl).toBeLessThanOrEqual(Math.max(...samples) + 1e-9);
      expect(upperKl(record)).toBeGreaterThanOrEqual(record.kl);
    }),
  );
});
