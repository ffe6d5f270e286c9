import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePolicy, policyName, type LinkPolicy } from "./link-policy.ts";
import { planRecompute, tokensIn, type PlannedChunk } from "./link-plan.ts";
import { splitmix64 } from "./random.ts";

function policy(name: string): LinkPolicy {
  const parsed = parsePolicy(name);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
}
const linked = (...lengths: number[]): PlannedChunk[] => lengths.map((length) => ({ length, state: "linked" }));
const plan = (name: string, chunks: readonly PlannedChunk[]) => planRecompute(policy(name), chunks, splitmix64(1));

describe("policies by name", () => {
  const names = ["full", "naive", "attnlink-16", "blend-15", "craft-0.5", "last-2", "last-2+attnlink-4", "random-7.5"];
  const more = ["attended-15", "prefix-30", "last-1+craft-3", "craft-0.5+focus", "last-2+craft-1+gap"];
  it.each([...names, ...more])("%s is read and written alike", (name) => {
    expect(policyName(policy(name))).toBe(name);
  });

  it.each([
    "",
    "last-0",
    "last-",
    "last-2+",
    "last-2+last-1",
    "+naive",
    "attnlink-0",
    "attnlink-1.5",
    "blend-101",
    "best",
    "focus",
    "+gap",
    "last-2+focus",
    "blend-15+focus",
    "craft-1+focus+gap",
    "craft-1+focus+last-2",
  ])("%s is refused", (name) => expect(parsePolicy(name)).toHaveProperty("problem"));
});

describe("planRecompute", () => {
  const chunks = linked(10, 20, 30);

  it("full recomputes all, naive nothing", () => {
    expect(plan("full", chunks)).toEqual([[0, 60]]);
    expect(plan("naive", chunks)).toEqual([]);
    expect(plan("full", [])).toEqual([]);
  });

  it("attnlink takes half before and half after each boundary; an odd one more after, where the chunk begins", () => {
    expect(plan("attnlink-4", chunks)).toEqual([
      [8, 12],
      [28, 32],
    ]);
    expect(plan("attnlink-1", chunks)).toEqual([
      [10, 11],
      [30, 31],
    ]);
    expect(plan("attnlink-64", linked(10, 20, 3))).toEqual([[0, 33]]);
  });

  it("last recomputes the last chunks, and another policy the rest", () => {
    expect(plan("last-2", chunks)).toEqual([[10, 60]]);
    expect(plan("last-9", chunks)).toEqual([[0, 60]]);
    expect(plan("last-1+attnlink-4", chunks)).toEqual([
      [8, 12],
      [30, 60],
    ]);
  });

  it("blend takes the tokens that deviate most, wherever they stand", () => {
    const deviating: PlannedChunk[] = [
      { length: 2, state: "exact", deviation: [9, 9] },
      { length: 4, state: "linked", deviation: [1, 5, 6, 1] },
      { length: 4, state: "linked", deviation: [8, 0, 0, 0] },
    ];
    expect(plan("blend-25", deviating)).toEqual([
      [4, 5],
      [6, 7],
    ]);
    expect(() => plan("blend-25", chunks)).toThrow("deviation of every token, 10 of a chunk, not 0");
  });

  it("craft takes the share CFO of each chunk by its ranking; all of what is not scored; nothing out of focus", () => {
    const ranking = [3, 0, 1, 2];
    expect(
      plan("craft-2", [
        { length: 4, state: "linked", impact: { score: 0, ranking } },
        { length: 4, state: "linked", impact: { score: 0.25, ranking } },
        { length: 2, state: "linked" },
        { length: 4, state: "linked", impact: { score: 1, ranking }, focused: false },
      ]),
    ).toEqual([
      [4, 5],
      [7, 10],
    ]);
  });

  it("computes what is missing under every policy, and leaves the exact prefix alone", () => {
    const mixed: PlannedChunk[] = [
      { length: 10, state: "exact" },
      { length: 10, state: "missing" },
      { length: 10, state: "linked" },
    ];
    expect(plan("naive", mixed)).toEqual([[10, 20]]);
    expect(plan("attnlink-4", mixed)).toEqual([[10, 22]]);
    expect(plan("last-3", mixed)).toEqual([[10, 30]]);
    expect(
      plan(
        "attnlink-4",
        linked(10, 10).map((chunk) => ({ ...chunk, state: "exact" })),
      ),
    ).toEqual([]);
  });

  it("controls spend the same share: per chunk at random or by attention, or what is behind the longest prefix", () => {
    expect(tokensIn(plan("random-10", chunks))).toBe(6);
    expect(plan("prefix-10", chunks)).toEqual([[54, 60]]);
    expect(plan("attended-50", [{ length: 4, state: "linked", attention: [3, 1, 0, 2] }])).toEqual([
      [0, 1],
      [3, 4],
    ]);
    expect(() => planRecompute(policy("random-10"), chunks)).toThrow("random numbers");
  });

  it("gives ascending runs that lie apart and within, with all that is missing in them", () => {
    const chunk = fc.record({
      length: fc.integer({ min: 1, max: 12 }),
      state: fc.constantFrom<PlannedChunk["state"]>("linked", "missing", "exact"),
    });
    const names = fc.constantFrom("full", "naive", "attnlink-3", "blend-20", "craft-1", "last-2", "last-1+attnlink-2");
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 8 }), names, fc.nat(), (drawn, name, seed) => {
        const random = splitmix64(seed);
        const given = drawn.map(({ length, state }): PlannedChunk => {
          const values = Array.from({ length }, () => random());
          const ranking = values.map((_, token) => token);
          return { length, state, deviation: values, attention: values, impact: { score: random(), ranking } };
        });
        const runs = plan(name, given);
        const total = given.reduce((sum, { length }) => sum + length, 0);
        const inRun = (position: number): boolean => runs.some(([a, b]) => position >= a && position < b);
        let end = -1;
        for (const [a, b] of runs) {
          expect(a).toBeGreaterThan(end);
          expect(b).toBeGreaterThan(a);
          end = b;
        }
        expect(end).toBeLessThanOrEqual(total);
        let at = 0;
        for (const { length, state } of given) {
          for (let position = at; position < at + length; position++) {
            if (state === "missing") expect(inRun(position)).toBe(true);
            if (state === "exact" && name !== "full") expect(inRun(position)).toBe(false);
          }
          at += length;
        }
      }),
    );
  });
});
