import fc from "fast-check";
import { expect, it } from "vitest";
import { addSample, choosePolicy, lowerKl, memory, noRecord, upperKl, type PolicyRecord } from "./policy-choice.ts";

const after = (samples: readonly number[], share: number): PolicyRecord =>
  samples.reduce((record, kl) => addSample(record, kl, share), { ...noRecord });
const limits = { bound: 0.1, least: 5, leastAgainst: 2, ladder: ["last-2", "last-3", "full"] };
const chosen = (...of: Parameters<typeof choosePolicy>): string => choosePolicy(...of).policy;

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
  expect(chosen(records, limits)).toBe("last-1");
  expect(chosen(records, { ...limits, bound: 0.05 })).toBe("last-3");
  expect(chosen(records, { ...limits, bound: 0.001 })).toBe("last-2");
});

it("keeps the fallback until there are enough samples, and where the mean is not sure", () => {
  expect(chosen(new Map([["naive", after([0, 0, 0], 0)]]), limits)).toBe("last-2");
  expect(chosen(new Map([["naive", after([0, 0, 0, 0, 0.4, 0], 0)]]), limits)).toBe("last-2");
  expect(chosen(new Map(), limits)).toBe("last-2");
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

it("leaves a policy that loses too much for one that loses less, and links nothing when all do", () => {
  const bad = (...names: string[]) => new Map(names.map((name) => [name, after([0.5, 0.6, 0.7], 0.2)]));
  expect(chosen(bad("last-2"), limits)).toBe("last-3");
  expect(chosen(bad("last-2", "last-3"), limits)).toBe("full");
  // Neither a single sample nor an interval that contains the bound rejects a policy.
  expect(chosen(new Map([["last-2", after([5], 0.2)]]), limits)).toBe("last-2");
  expect(chosen(new Map([["last-2", after([0, 0.5], 0.2)]]), limits)).toBe("last-2");
});

it("never takes one that is known to be too bad, and what it proves keeps the bound", () => {
  const kls = fc.array(fc.double({ min: 0, max: 0.4, noNaN: true }), { maxLength: 12 });
  const names = ["naive", "last-1", "last-2", "last-3"];
  fc.assert(
    fc.property(
      fc.array(kls, { minLength: 4, maxLength: 4 }),
      fc.double({ min: 0.01, max: 0.3, noNaN: true }),
      (all, bound) => {
        const records = new Map(all.map((samples, i) => [names[i]!, after(samples, i / 10)]));
        const { policy, record } = choosePolicy(records, { ...limits, bound });
        if (record !== null) {
          expect(record).toBe(records.get(policy));
          expect(upperKl(record)).toBeLessThanOrEqual(bound);
          for (const [name, other] of records)
            if (name !== policy && other.share < record.share)
              expect(other.weight < limits.least || upperKl(other) > bound).toBe(true);
          return;
        }
        expect(limits.ladder).toContain(policy);
        const own = records.get(policy);
        if (own !== undefined) expect(own.weight < limits.leastAgainst || lowerKl(own) <= bound).toBe(true);
        // Nor is one passed over that might do.
        for (const name of limits.ladder.slice(0, limits.ladder.indexOf(policy))) {
          const passed = records.get(name)!;
          expect(passed.weight >= limits.leastAgainst && lowerKl(passed) > bound).toBe(true);
        }
      },
    ),
  );
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

it("reads over what is no number", () => {
  const record = after([0.1, 0.2], 0.3);
  for (const kl of [NaN, Infinity]) expect(addSample(record, kl, 0.3)).toEqual(record);
});
