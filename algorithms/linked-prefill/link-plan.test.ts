import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  chunkKind,
  kindsOf,
  type LinkPolicies,
  linksNothing,
  parsePolicies,
  parsePolicy,
  policiesName,
  policiesOf,
  policyName,
  type LinkPolicy,
} from "./link-policy.ts";
import { planRecompute, type PlannedChunk, tokensIn } from "./link-plan.ts";

function policy(name: string): LinkPolicy {
  const parsed = parsePolicy(name);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
}
const linked = (...lengths: number[]): PlannedChunk[] => lengths.map((length) => ({ length, state: "linked" }));
const plan = (name: string, chunks: readonly PlannedChunk[]) => planRecompute(policy(name), chunks);

describe("policies by name", () => {
  it.each([
    "full",
    "naive",
    "attnlink-16",
    "last-2",
    "last-2+attnlink-4",
    "prefix-30",
    "last-1+prefix-7.5",
    "craft-0.3",
    "last-1+craft-2",
  ])("%s is read and written alike", (name) => {
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
    "craft-0",
    "best",
    "focus",
    "+gap",
    "last-2+focus",
    "blend-15+focus",
    "craft-1+focus+gap",
    "craft-1+focus+last-2",
  ])("%s is refused", (name) => expect(parsePolicy(name)).toHaveProperty("problem"));

  it.each(["blend-15", "lego-16", "craft-0.5+focus", "last-2+craft-1+gap", "random-7.5", "last-1+attended-15"])(
    "%s is refused as research, with what to choose instead",
    (name) => expect(parsePolicy(name)).toEqual({ problem: expect.stringContaining(`"${name}" is a research policy`) }),
  );
});

it("craft takes the share CFO of each chunk by its ranking, and all of what is not scored", () => {
  const scored = (length: number, score: number): PlannedChunk => ({
    ...{ length, state: "linked" },
    impact: { score, ranking: Array.from({ length }, (_, token) => length - 1 - token) },
  });
  const chunks: PlannedChunk[] = [{ length: 4, state: "exact" }, scored(10, 0.5), ...linked(3), scored(10, 0)];
  expect(plan("craft-0.4", chunks)).toEqual([[12, 17]]);
  expect(plan("craft-9", chunks)).toEqual([[4, 17]]);
  expect(plan("last-1+craft-0.4", chunks)).toEqual([[12, 27]]);
  expect(
    planRecompute(policies("short:naive,long:craft-0.4"), [...linked(20), scored(200, 0.5), ...linked(9)]),
  ).toEqual([[180, 220]]);
});

function policies(name: string): LinkPolicies {
  const parsed = parsePolicies(name);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
}

describe("policies by kind of chunk", () => {
  it.each(["last-2", "short:last-2,long:attnlink-4", "short:full,long:last-1+attnlink-16"])(
    "%s is read and written alike",
    (name) => expect(policiesName(policies(name))).toBe(name),
  );

  it.each(["short:last-2", "long:naive", "short:last-2,long:", "short:x,long:naive", "short:naive,long:prefix-5", ""])(
    "%s is refused",
    (name) => expect(parsePolicies(name)).toHaveProperty("problem"),
  );

  it("names what applies to a prompt: the system prompt is of no kind", () => {
    const pair = policies("short:last-2,long:attnlink-4");
    const of = (...tokens: number[]) =>
      policiesName(
        policiesOf(
          pair,
          tokens.map((one) => ({ tokens: one })),
        ),
      );
    expect([of(20, 40, 127), of(20, 128, 512), of(900, 40), of(20, 512, 40), of(20)]).toEqual([
      ...["last-2", "attnlink-4", "last-2"],
      ...["short:last-2,long:attnlink-4", "short:last-2,long:attnlink-4"],
    ]);
    expect(kindsOf([{ tokens: 900 }])).toEqual([]);
    expect([linksNothing(policies("short:full,long:full")), linksNothing(pair)]).toEqual([true, false]);
    expect(linksNothing(policies("last-1+full"))).toBe(false);
  });

  const mixed: PlannedChunk[] = [{ length: 20, state: "exact" }, ...linked(200, 300, 10, 10, 10)];

  it("repairs passages at their boundaries and recomputes the last examples", () => {
    expect(planRecompute(policies("short:last-2,long:attnlink-4"), mixed)).toEqual([
      [20, 22],
      [218, 222],
      [530, 550],
    ]);
    // `last` counts the chunks of its kind and leaves the other kind unchanged.
    expect(planRecompute(policies("short:naive,long:last-1"), mixed)).toEqual([[220, 520]]);
    expect(planRecompute(policies("short:full,long:naive"), mixed)).toEqual([[520, 550]]);
    expect(planRecompute(policies("short:last-9,long:full"), mixed)).toEqual([[20, 550]]);
  });

  it("is the kind's own policy where there is no other kind, and never leaves out what is missing", () => {
    const chunk = fc.record({
      length: fc.integer({ min: 120, max: 136 }),
      state: fc.constantFrom<PlannedChunk["state"]>("linked", "missing", "exact"),
    });
    const names = fc.constantFrom("full", "naive", "attnlink-3", "last-2", "last-1+attnlink-2");
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 8 }), names, names, (given, short, long) => {
        const runs = planRecompute(policies(`short:${short},long:${long}`), given);
        const inRun = (position: number): boolean => runs.some(([a, b]) => position >= a && position < b);
        const kinds = new Set(given.filter(({ state }) => state === "linked").map(({ length }) => chunkKind(length)));
        if (kinds.size === 1) expect(runs).toEqual(plan(kinds.has("short") ? short : long, given));
        let at = 0;
        for (const { length, state } of given) {
          const inside = Array.from({ length }, (_, i) => inRun(at + i));
          if (state === "missing" || (state === "linked" && (chunkKind(length) === "short" ? short : long) === "full"))
            expect(inside).not.toContain(false);
          if (state === "linked" && (chunkKind(length) === "short" ? short : long) === "naive")
            expect(inside).not.toContain(true);
          at += length;
        }
        expect(tokensIn(runs)).toBeLessThanOrEqual(at);
      }),
    );
  });
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

  it("prefix computes the same share of all, behind the longest prefix", () => {
    expect(plan("prefix-10", chunks)).toEqual([[54, 60]]);
  });

  it("gives ascending runs that lie apart and within, with all that is missing in them", () => {
    const chunk = fc.record({
      length: fc.integer({ min: 1, max: 12 }),
      state: fc.constantFrom<PlannedChunk["state"]>("linked", "missing", "exact"),
    });
    const names = fc.constantFrom("full", "naive", "attnlink-3", "prefix-20", "last-2", "last-1+attnlink-2");
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 8 }), names, (given, name) => {
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
            if (state === "exact" && name !== "full" && name !== "prefix-20") expect(inRun(position)).toBe(false);
          }
          at += length;
        }
      }),
    );
  });
});
