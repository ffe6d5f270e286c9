// Nothing of a tenant reaches another, whatever they do and in whatever order: what a tenant sees
// while others are there is what it sees alone, to the byte but for the ids that are drawn, and no
// text of another is in it.
import fc from "fast-check";
import { expect, it } from "vitest";
import { mostStep, play, tenants } from "./play.testing.ts";

/** Steps of all runs together: 6,000, or 20,000 at full counts; PRECEDENT_STEPS sets any number. */
const steps = Number(process.env.PRECEDENT_STEPS ?? (process.env.PRECEDENT_FULL_COUNTS === undefined ? 6_000 : 20_000));
const stepsOfARun = 400;

it(`${steps} steps of ${tenants.length} tenants: nothing crosses`, { timeout: 3_600_000 }, async () => {
  const statuses = new Map<string, number>();
  const figures = new Map<string, number>();
  const add = (to: Map<string, number>, name: string, count: number): void =>
    void to.set(name, (to.get(name) ?? 0) + count);
  let played = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.noBias(fc.nat(mostStep - 1)), { minLength: stepsOfARun, maxLength: stepsOfARun, size: "max" }),
      fc.nat(tenants.length - 1),
      async (numbers, alone) => {
        const together = await play(numbers);
        expect(together.failures).toEqual([]);
        const byItself = await play(numbers, [alone]);
        const [seen = [], expected = []] = [together.seen[alone], byItself.seen[alone]];
        const differs = expected.findIndex((one, index) => one !== seen[index]);
        expect(seen[differs]).toBe(expected[differs]);
        expect(seen).toHaveLength(expected.length);
        played += numbers.length;
        for (const [name, count] of together.statuses) add(statuses, name, count);
        for (const [name, count] of Object.entries(together.figures)) add(figures, name, count);
      },
    ),
    { numRuns: Math.ceil(steps / stepsOfARun), seed: Number(process.env.PRECEDENT_SEED ?? 16), endOnFailure: true },
  );
  expect(played).toBeGreaterThanOrEqual(steps);
  // It goes where there is something to cross.
  const reached = [
    "ask 200",
    "ask 401",
    "ask 422",
    "ask 429",
    "read 429",
    "read 200",
    "read 404",
    "cancel 202",
    "byToken 202",
    "byToken 403",
  ];
  for (const one of reached) expect(statuses.get(one), one).toBeGreaterThan(steps / 2_000);
  for (const one of ["generated", "cached", "followed", "duplicates", "cancelled"])
    expect(figures.get(one), one).toBeGreaterThan(steps / 2_000);
  expect([...statuses.keys()].filter((one) => /^(page|admin) (?!401|403)/.test(one))).toEqual([]);
});
