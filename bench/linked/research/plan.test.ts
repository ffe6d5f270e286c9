import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokensIn } from "../../../algorithms/linked-prefill/link-plan.ts";
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import { type KnownChunk, planCompared } from "./plan.ts";
import { comparedPolicy, parseCompared } from "./policy.ts";

const linked = (...lengths: number[]): KnownChunk[] => lengths.map((length) => ({ length, state: "linked" }));
const plan = (name: string, chunks: readonly KnownChunk[]) => planCompared(comparedPolicy(name), chunks, splitmix64(1));

describe("policies by name", () => {
  it.each([
    ["blend-15", { kind: "blend", amount: 0.15, last: 0 }],
    ["craft-0.5", { kind: "craft", amount: 0.5, last: 0 }],
    ["random-7.5", { kind: "random", amount: 0.075, last: 0 }],
    ["lego-16", { kind: "lego", amount: 16, last: 0 }],
    ["attended-15", { kind: "attended", amount: 0.15, last: 0 }],
    ["last-1+craft-3", { kind: "craft", amount: 3, last: 1 }],
    ["craft-0.5+focus", { kind: "craft", amount: 0.5, last: 0, focus: "focus" }],
    ["last-2+craft-1+gap", { kind: "craft", amount: 1, last: 2, focus: "gap" }],
    ["last-2+attnlink-4", { kind: "attnlink", amount: 4, last: 2 }],
    ["naive", { kind: "naive", amount: 0, last: 0 }],
  ])("%s is read, as are those that are served", (name, policy) => expect(parseCompared(name)).toEqual(policy));

  it.each([
    "blend-101",
    "craft-0",
    "blend-15+focus",
    "craft-1+focus+gap",
    "craft-1+focus+last-2",
    "last-2+focus",
    "best",
  ])("%s is refused", (name) => expect(parseCompared(name)).toHaveProperty("problem"));
});

describe("planCompared", () => {
  const chunks = linked(10, 20, 30);

  it("blend takes the tokens that deviate most, wherever they stand", () => {
    const deviating: KnownChunk[] = [
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

  it("craft in focus takes what craft does there, all of what is not scored, and nothing out of focus", () => {
    const ranking = [3, 0, 1, 2];
    expect(
      plan("craft-2+focus", [
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

  it("lego takes the first tokens of every chunk but the first", () => {
    expect(plan("lego-4", linked(10, 3, 30))).toEqual([[10, 17]]);
  });

  it("controls spend the same share: per chunk at random or by attention", () => {
    expect(tokensIn(plan("random-10", chunks))).toBe(6);
    expect(plan("attended-50", [{ length: 4, state: "linked", attention: [3, 1, 0, 2] }])).toEqual([
      [0, 1],
      [3, 4],
    ]);
  });

  it("computes the last chunks whole, and plans what is served as planRecompute does", () => {
    expect(tokensIn(plan("last-1+random-10", chunks))).toBe(1 + 2 + 30);
    expect(plan("attnlink-4", chunks)).toEqual([
      [8, 12],
      [28, 32],
    ]);
  });

  it("gives ascending runs that lie apart and within, with all that is missing in them", () => {
    const chunk = fc.record({
      length: fc.integer({ min: 1, max: 12 }),
      state: fc.constantFrom<KnownChunk["state"]>("linked", "missing", "exact"),
    });
    const names = fc.constantFrom("full", "naive", "blend-20", "craft-1", "random-20", "attended-20", "last-1+craft-2");
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 8 }), names, fc.nat(), (drawn, name, seed) => {
        const random = splitmix64(seed);
        const given = drawn.map(({ length, state }): KnownChunk => {
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
