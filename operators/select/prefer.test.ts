import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LivePrefixes } from "../../algorithms/selection/live-prefixes.ts";
import { chooseExamples, type ChooseLimits, type Chosen, type Rated } from "./choose.ts";
import { anyDraw, candidate } from "./fixtures.testing.ts";
import { choosePreferringCached, choosePreferringPrefix } from "./prefer.ts";
import type { Unfit } from "./screen.ts";

const limits: ChooseLimits & { cachedBonus: number } = {
  ...{ examples: 1, threshold: 0.5, tokenBudget: 100, nearDuplicate: 0.95 },
  cachedBonus: 0.02,
};
const rated = (id: string, helpfulness: number, cached: boolean, over: Partial<Rated> = {}): Rated => ({
  ...candidate(id, 0.7, {}, id.charCodeAt(0) % 8),
  ...{ tokens: 10, helpfulness, row: 0, features: () => [], unfit: null, cached },
  ...over,
});
const shown = ({ examples }: Chosen) => examples.map(({ id, cachedBonus }) => [id, cachedBonus]);
const sum = ({ examples }: Chosen): number => examples.reduce((total, { helpfulness }) => total + helpfulness, 0);

describe("cached examples", () => {
  test("win against what is hardly more helpful, and against nothing else", () => {
    expect(shown(choosePreferringCached([rated("a", 0.71, false), rated("b", 0.7, true)], limits))).toEqual([
      ["b", 0.02],
    ]);
    expect(shown(choosePreferringCached([rated("a", 0.73, false), rated("b", 0.7, true)], limits))).toEqual([["a", 0]]);
    const off = { ...limits, cachedBonus: 0 };
    expect(shown(choosePreferringCached([rated("a", 0.71, false), rated("b", 0.7, true)], off))).toEqual([["a", 0]]);
  });

  test("pass no threshold by it, and stand in the prompt where their helpfulness puts them", () => {
    const candidates = [rated("a", 0.6, false), rated("b", 0.499, true), rated("c", 0.59, true)];
    const chosen = choosePreferringCached(candidates, { ...limits, examples: 3 });
    expect(shown(chosen)).toEqual([
      ["c", 0.02],
      ["a", 0],
    ]);
    expect(chosen.verdicts[1]?.reason).toBe("below_threshold");
  });

  test("get no bonus where it would cost more than itself: here by what it says already", () => {
    const vector = (...values: number[]) => ({ vector: Float32Array.from(values) });
    // b is near-duplicate of c, and a of neither.
    const candidates = [
      rated("a", 0.7, false, vector(0, 0, 1)),
      rated("b", 0.69, true, vector(1, 0, 0)),
      rated("c", 0.68, false, vector(0.96, 0.28, 0)),
      rated("d", 0.7, false, vector(0.9, -0.436, 0)),
    ];
    const within = { ...limits, examples: 3, nearDuplicate: 0.89 };
    expect(choosePreferringCached(candidates, within)).toEqual(
      chooseExamples(candidates, { ...within, cachedBonus: 0 }),
    );
    expect(sum(chooseExamples(candidates, within))).toBeLessThan(
      sum(choosePreferringCached(candidates, within)) - 0.06,
    );
  });
});

test("whatever the candidates, the shown ones lose at most the bonus each, and the bonus admits no candidate", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const given = fc.record({
    id: fc.uuid(),
    helpfulness: fc.oneof(share, fc.constantFrom(0.5, 0.501, 0.51, Number.NaN)),
    cached: fc.boolean(),
    tokens: fc.integer({ min: 1, max: 60 }),
    vector: fc.constantFrom([1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6], [-1, 0]).map((values) => Float32Array.from(values)),
    unfit: fc.option(fc.constantFrom<Unfit>("foreign", "own_request", "unsafe"), { freq: 8 }),
  });
  const within = fc.record({
    examples: fc.integer({ min: 0, max: 8 }),
    threshold: fc.oneof(share, fc.constantFrom(0.5, 0.501)),
    tokenBudget: fc.integer({ min: 0, max: 200 }),
    nearDuplicate: share,
    cachedBonus: fc.double({ min: 0, max: 0.1, noNaN: true }),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(given, { maxLength: 20, selector: ({ id }) => id }),
      within,
      anyDraw,
      (values, wanted, draw) => {
        const candidates = values.map(({ id, ...over }) => rated(id, over.helpfulness, over.cached, over));
        const chosen = choosePreferringCached(candidates, wanted, draw);
        const without = chooseExamples(candidates, { ...wanted, cachedBonus: 0 }, draw);
        expect(sum(chosen)).toBeGreaterThanOrEqual(sum(without) - wanted.cachedBonus * without.examples.length);
        expect(chosen.trial).toEqual(without.trial);
        expect(chosen.examples.length).toBeLessThanOrEqual(wanted.examples);
        const cached = new Set(values.filter((one) => one.cached).map(({ id }) => id));
        for (const { id, helpfulness, explored, cachedBonus } of chosen.examples) {
          if (!explored) expect(helpfulness).toBeGreaterThanOrEqual(wanted.threshold);
          if (cachedBonus > 0) expect([cachedBonus, cached.has(id)]).toEqual([wanted.cachedBonus, true]);
        }
        const settled = ["foreign", "own_request", "unsafe", "unusable", "oversized", "below_threshold", "kept_out"];
        const barred = ({ verdicts }: Chosen) =>
          verdicts.map(({ reason }) => (settled.includes(reason) ? reason : null));
        expect(barred(chosen)).toEqual(barred(without));
      },
    ),
  );
});

test("whatever began earlier prompts, an example loses at most the bonus, and nothing is admitted by it", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const given = fc.record({
    id: fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h"),
    helpfulness: fc.oneof(share, fc.constant(Number.NaN)),
    tokens: fc.integer({ min: 1, max: 60 }),
    unfit: fc.option(fc.constantFrom<Unfit>("foreign", "unsafe"), { freq: 8 }),
  });
  const within = fc.record({
    examples: fc.integer({ min: 0, max: 5 }),
    threshold: share,
    tokenBudget: fc.integer({ min: 0, max: 200 }),
    nearDuplicate: fc.constantFrom(0.5, 1),
    prefixBonus: fc.double({ min: 0, max: 0.2, noNaN: true }),
  });
  const noted = fc.array(
    fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h", "x"), { maxLength: 5 }),
    { maxLength: 10 },
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(given, { selector: ({ id }) => id }),
      within,
      noted,
      anyDraw,
      (values, wanted, prompts, draw) => {
        const candidates = values.map(({ id, ...over }) => rated(id, over.helpfulness, false, over));
        const live = new LivePrefixes(100, 1_000);
        for (const ids of prompts) live.note(ids, 0);
        const chosen = choosePreferringPrefix(candidates, wanted, draw, (...asked) => live.longest(...asked, 0));
        const plain = chooseExamples(candidates, wanted, draw);
        expect(sum(chosen)).toBeGreaterThanOrEqual(sum(plain) - wanted.prefixBonus * plain.examples.length - 1e-6);
        expect(chosen.trial).toEqual(plain.trial);
        expect(chosen.examples.length).toBeLessThanOrEqual(wanted.examples);
        expect(chosen.examples.reduce((tokens, one) => tokens + one.tokens, 0)).toBeLessThanOrEqual(wanted.tokenBudget);
        for (const { helpfulness, explored } of chosen.examples)
          if (!explored) expect(helpfulness).toBeGreaterThanOrEqual(wanted.threshold);
      },
    ),
  );
});
