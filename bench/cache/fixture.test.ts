// The policies against totals that were computed elsewhere, and against small streams worked out
// by hand.
import { describe, expect, it } from "vitest";
import { fixtureErrors, readFixture } from "./fixture.ts";
import { createAdaptive } from "../../algorithms/response-cache/adaptive.ts";
import { createGdsf, createLec1, createLecm, createLfu, createLru } from "./baselines.ts";
import type { CachePolicy, CreatePolicy } from "../../algorithms/response-cache/policy.ts";

const runs = await readFixture();

describe.skipIf(runs === null)("the fixture's ten seeds (skipped: ../shared/data/cache-fixture.json is absent)", () => {
  const errors = runs === null ? {} : fixtureErrors(runs);

  it("every policy whose definition is complete pays the same within .01", () => {
    const { adaptive: _, ...stated } = errors;
    expect(Object.keys(stated)).toHaveLength(11);
    expect(Object.entries(stated).filter(([, error]) => !(error < 0.01))).toEqual([]);
  }, 60_000);

  // When losses are compared and how shadows begin is left open, which moves single adoptions: of
  // totals of 15,000 to 19,000, the largest difference is .3 %.
  it("adaptive pays the same within .3 %", () => {
    expect(errors.adaptive).toBeLessThan(50);
  });
});

const sizes: Record<string, number> = { a: 2, b: 2, c: 3, d: 1 };
const costs: Record<string, number> = { a: 2, b: 4, c: 3, d: 9 };

/** Plays a text of ids; what each request found, a capital letter a hit, and what is held. */
function played(create: CreatePolicy, ids: string): string {
  const policy: CachePolicy = create(4);
  const out = ids.split(/(?=.)/).map((id) => {
    if (policy.arrive(id).hit) return id.toUpperCase();
    policy.answered(id, sizes[id]!, costs[id]!);
    return id;
  });
  return `${out.join("")} ${Object.keys(sizes)
    .filter((id) => policy.has(id))
    .join("")}`;
}

describe("a stream worked out by hand: room for 4; a and b take 2, c takes 3, d takes 1", () => {
  // Cost per byte: a 1, b 2, c 1, d 9.
  it.each([
    // c is worth 1 a byte: a (1) is not worth less. d (9) displaces a.
    ["lecm", createLecm(), "abcdab", "abcdaB bd"],
    // After two more arrivals c is worth 3 a byte and displaces a and b.
    ["lecm", createLecm(), "abccc", "abccc c"],
    // One victim is not enough for c.
    ["lec1", createLec1(), "abccc", "abccc ab"],
    ["LRU", createLru, "abacd", "abAcd cd"],
    ["LFU", createLfu, "aabcccc", "aAbcccC c"],
    // a leaves at priority 1, so c enters with it: b is evicted, too.
    ["GDSF", createGdsf, "abca", "abca a"],
    ["adaptive", (capacity: number) => createAdaptive(capacity), "abcdab", "abcdaB bd"],
  ] as const)("%s", (_name, create, ids, expected) => {
    expect(played(create, ids)).toBe(expected);
  });
});
