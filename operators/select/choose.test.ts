import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dot } from "../../algorithms/selection/embedding.ts";
import { exampleTokens } from "../../algorithms/text/tokens.ts";
import { chooseExamples, type ChooseLimits, type Chosen, type Rated } from "./choose.ts";
import { anyDraw, candidate } from "./fixtures.testing.ts";
import type { Unfit } from "./screen.ts";

const limits: ChooseLimits = {
  examples: 5,
  threshold: 0.5,
  tokenBudget: 1_000,
  nearDuplicate: 0.95,
};
/** Axis: candidates on different axes have nothing in common. */
function rated(
  id: string,
  helpfulness: number,
  over: Partial<Rated> & { response?: string; axis?: number } = {},
): Rated {
  const { response = `response ${id}`, axis = Number(id.charCodeAt(0)) % 8, ...rest } = over;
  const { example, vector } = candidate(id, 0.7, { response }, axis);
  const features = (): number[] => [Math.fround(helpfulness)];
  return { example, similarity: 0.7, vector, tokens: 10, helpfulness, row: 0, features, unfit: null, ...rest };
}
const ids = ({ examples }: Chosen): string[] => examples.map(({ id }) => id);
const why = ({ verdicts }: Chosen) =>
  Object.fromEntries(
    verdicts.map(({ candidate: { example }, reason, of }) => [example.id, of === null ? reason : `${reason} ${of}`]),
  );

test("the most helpful stands last; what is below the threshold is not shown", () => {
  const chosen = chooseExamples([rated("a", 0.6), rated("b", 0.9), rated("c", 0.4), rated("d", 0.7)], limits);
  expect(ids(chosen)).toEqual(["a", "d", "b"]);
  expect(why(chosen)).toEqual({ a: "shown", b: "shown", c: "below_threshold", d: "shown" });
  expect(chosen.examples.at(-1)).toEqual({
    id: "b",
    request: "request b",
    response: "response b",
    similarity: 0.7,
    helpfulness: 0.9,
    tokens: 10,
    explored: false,
    cachedBonus: 0,
    features: [Math.fround(0.9)],
  });
});

test("says of what an example is a near-duplicate; the same answer to another question is shown", () => {
  const chosen = chooseExamples(
    [
      rated("a", 0.9, { axis: 1 }),
      rated("b", 0.8, { axis: 1 }),
      rated("c", 0.7, { axis: 2, response: "response a \n" }),
    ],
    limits,
  );
  expect(why(chosen)).toEqual({ a: "shown", b: "near_duplicate a", c: "shown" });
});

test("a huge example never enters, and smaller ones replace it", () => {
  const candidates = [
    rated("h", 1, { tokens: Infinity }),
    rated("a", 0.9, { tokens: 60 }),
    rated("b", 0.8, { tokens: 50 }),
    rated("c", 0.7),
  ];
  const chosen = chooseExamples(candidates, { ...limits, tokenBudget: 100 });
  expect(why(chosen)).toEqual({ h: "oversized", a: "shown", b: "over_budget", c: "shown" });
});

test("of another tenant at most half of a prompt is, of the asker's own all, and synthetic ones count for none", () => {
  const all = ["a", "b", "c", "d", "e", "f"].map((id, i) => rated(id, 0.9 - 0.05 * i));
  const of = (tenants: readonly string[]): Rated[] =>
    all.map((one, i) => ({ ...one, example: { ...one.example, tenant: tenants[i] ?? "us" } }));
  const asked = { ...limits, tenant: "us" };
  const theirs = chooseExamples(of(["a", "a", "a", "b", "a", "us"]), asked);
  expect(why(theirs)).toEqual({ a: "shown", b: "shown", c: "one_tenant", d: "shown", e: "one_tenant", f: "shown" });
  expect(ids(chooseExamples(of([]), asked))).toHaveLength(5);
  expect(ids(chooseExamples(of(["+", "+", "+", "+", "+", "+"]), asked))).toHaveLength(5);
  expect(ids(chooseExamples(of(["a", "a"]), { ...asked, examples: 1 }))).toEqual(["a"]);
});

test("what is not a number is never shown", () => {
  const candidates = [
    rated("a", Number.NaN),
    rated("b", 0.9, { tokens: Number.NaN }),
    rated("c", 0.9, { unfit: "foreign" }),
  ];
  expect(why(chooseExamples(candidates, limits))).toEqual({ a: "unusable", b: "oversized", c: "foreign" });
});

describe("a trial", () => {
  const candidates = [rated("a", 0.9), rated("b", 0.2), rated("c", 0.8), rated("x", 0.9, { unfit: "own_request" })];
  const draw = { pick: 0.5, shown: true, probability: 0.5 };

  test("forced in stands where its helpfulness puts it, below the threshold or not", () => {
    const chosen = chooseExamples(candidates, limits, draw);
    expect(ids(chosen)).toEqual(["b", "c", "a"]);
    expect(chosen.examples.map(({ explored }) => explored)).toEqual([true, false, false]);
    expect(chosen.trial).toEqual({
      id: "b",
      shown: true,
      probability: 0.5,
      similarity: 0.7,
      helpfulness: 0.2,
      features: [Math.fround(0.2)],
    });
    expect(why(chosen).b).toBe("forced_in");
    // It replaces another.
    expect(ids(chooseExamples(candidates, { ...limits, examples: 1 }, draw))).toEqual(["b"]);
  });

  test("kept out leaves room for the next", () => {
    const chosen = chooseExamples(candidates, { ...limits, examples: 1 }, { ...draw, pick: 0, shown: false });
    expect(ids(chosen)).toEqual(["c"]);
    expect(chosen.trial).toMatchObject({ id: "a", shown: false });
    expect(why(chosen).a).toBe("kept_out");
  });

  test("is drawn evenly from what could be shown, and from nothing else", () => {
    const drawn = Array.from(
      { length: 300 },
      (_, i) => chooseExamples(candidates, limits, { ...draw, pick: i / 300 }).trial?.id,
    );
    expect(["a", "b", "c"].map((id) => drawn.filter((one) => one === id).length)).toEqual([100, 100, 100]);
    expect(chooseExamples([rated("x", 1, { tokens: 5_000 })], limits, draw).trial).toBeNull();
    expect(chooseExamples(candidates, { ...limits, examples: 0 }, draw)).toMatchObject({ trial: null, examples: [] });
  });
});

/** The same choice, comparing every open candidate with every taken one. */
function comparingAll({ verdicts, trial }: Chosen, limits: ChooseLimits): string[] {
  const forced = verdicts.filter(({ reason }) => reason === "forced_in").map(({ candidate: one }) => one);
  const choosable = ["shown", "near_duplicate", "over_budget", "too_many"];
  const open = verdicts
    .filter(({ reason, candidate: { example } }) => choosable.includes(reason) && example.id !== trial?.id)
    .map(({ candidate: one }) => one)
    .sort((a, b) => b.helpfulness - a.helpfulness || (a.example.id < b.example.id ? -1 : 1));
  const taken = [...forced];
  while (taken.length < limits.examples) {
    const unlike = open.filter((one) => taken.every(({ vector }) => dot(vector, one.vector) < limits.nearDuplicate));
    const [best] = unlike;
    if (best === undefined) break;
    open.splice(open.indexOf(best), 1);
    if (taken.reduce((sum, { tokens }) => sum + tokens, best.tokens) <= limits.tokenBudget) taken.push(best);
  }
  return taken.map(({ example }) => example.id);
}

test("whatever the candidates, the choice keeps every limit, misses nothing that fits, and gives a reason for each", () => {
  const unit = fc.constantFrom([1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6], [-1, 0]);
  const given = fc.record({
    id: fc.uuid(),
    helpfulness: fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constant(Number.NaN)),
    response: fc.string({ minLength: 1, maxLength: 80 }),
    vector: unit.map((values) => Float32Array.from(values)),
    unfit: fc.option(fc.constantFrom<Unfit>("foreign", "own_request", "unsafe"), { freq: 8 }),
  });
  const limit = fc.record({
    examples: fc.integer({ min: 0, max: 8 }),
    threshold: fc.double({ min: 0, max: 1, noNaN: true }),
    tokenBudget: fc.integer({ min: 0, max: 200 }),
    nearDuplicate: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(given, { maxLength: 20, selector: ({ id }) => id }),
      limit,
      anyDraw,
      (values, within, draw) => {
        const candidates = values.map(({ id, helpfulness, response, vector, unfit }): Rated => {
          const { example } = candidate(id, 0.5, { response });
          const tokens = exampleTokens(example.request, response);
          return { example, similarity: 0.5, vector, tokens, helpfulness, row: 0, features: () => [], unfit };
        });
        const chosen = chooseExamples(candidates, within, draw);
        const { examples, verdicts } = chosen;
        expect(chosen.settled.length + chosen.open).toBe(candidates.length);
        expect(ids(chosen).sort()).toEqual(comparingAll(chosen, within).sort());
        const total = examples.reduce((sum, one) => sum + one.tokens, 0);
        expect(examples.length).toBeLessThanOrEqual(within.examples);
        expect(total).toBeLessThanOrEqual(within.tokenBudget);
        expect(verdicts.map((one) => one.candidate)).toEqual(candidates);
        const shown = verdicts.filter(({ reason }) => reason === "shown" || reason === "forced_in");
        expect(shown.map((one) => one.candidate.example.id).sort()).toEqual(ids(chosen).sort());
        examples.forEach((one, i) => {
          expect(one.helpfulness).toBeGreaterThanOrEqual(examples[i - 1]?.helpfulness ?? 0);
          if (!one.explored) expect(one.helpfulness).toBeGreaterThanOrEqual(within.threshold);
        });
        for (const [i, a] of shown.entries())
          for (const b of shown.slice(i + 1)) {
            expect(dot(a.candidate.vector, b.candidate.vector)).toBeLessThan(within.nearDuplicate);
          }
        for (const { candidate: one, reason, of } of verdicts) {
          if (one.unfit !== null) expect(reason).toBe(one.unfit);
          if (reason === "over_budget") expect(one.tokens).toBeGreaterThan(within.tokenBudget - total);
          if (reason === "too_many") expect(examples).toHaveLength(within.examples);
          if (of !== null) expect(ids(chosen)).toContain(of);
        }
        if (chosen.trial !== null) expect(ids(chosen).includes(chosen.trial.id)).toBe(chosen.trial.shown);
        // The order in which candidates come does not matter.
        if (draw === null) expect(chooseExamples(candidates.toReversed(), within).examples).toEqual(examples);
      },
    ),
  );
});
