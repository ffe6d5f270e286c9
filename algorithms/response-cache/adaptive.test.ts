import { describe, expect, it } from "vitest";
import { splitmix64 } from "../numeric/random.ts";
import { createAdaptive } from "./adaptive.ts";
import { describePolicy } from "./policy-contract.testing.ts";
import type { CachePolicy, CreatePolicy } from "./policy.ts";

/** Requests for query(round), each of size 1 and cost 1; how many missed. */
function misses(policy: CachePolicy, rounds: number, query: (round: number) => number): number {
  let missed = 0;
  for (let round = 0; round < rounds; round++) {
    const id = query(round);
    if (policy.arrive(id).hit) continue;
    missed++;
    policy.answered(id, 1, 1);
  }
  return missed;
}

/** Density by plain counts: no rule to adopt. */
const fixed: CreatePolicy = (capacity) => createAdaptive(capacity, { halfLives: [Infinity], windowShare: 0 });

describePolicy("adaptive as any policy", (capacity) => createAdaptive(capacity));
// As plan has it.
describePolicy("adaptive that remembers less", (capacity) => createAdaptive(capacity, { outsidePerEntry: 2 }));

describe("adaptive", () => {
  it("adopts a short half-life where popularity changes, and none where it does not", () => {
    const random = splitmix64(3);
    const steady = createAdaptive(10);
    misses(steady, 4_000, () => Math.floor(40 * random() ** 3));
    const changing = (round: number): number => 40 * Math.floor(round / 400) + Math.floor(40 * random() ** 3);
    const policy = createAdaptive(10);
    const paid = misses(policy, 4_000, changing);
    expect(policy.halfLife()).toBeLessThan(1_000);
    expect(paid).toBeLessThan(0.9 * misses(fixed(10), 4_000, changing));
    expect(steady.halfLife()).toBeGreaterThan(policy.halfLife());
  });

  it("gives new answers a window where what was just asked for is asked for again, and none where it is not", () => {
    const random = splitmix64(7);
    const popular = (): number => Math.floor(2_000 * random() ** 3);
    const order: number[] = [];
    // Half of the requests repeat one of the last 20.
    const recent = (round: number): number =>
      (order[round] =
        round > 0 && random() < 0.5 ? order[round - 1 - Math.floor(random() * Math.min(20, round))]! : popular());
    const policy = createAdaptive(100);
    const paid = misses(policy, 12_000, recent);
    expect(policy.window()).toBeGreaterThan(0);
    const without = misses(createAdaptive(100, { windowShare: 0 }), 12_000, (round) => order[round]!);
    expect(paid).toBeLessThan(0.97 * without);
    const steady = createAdaptive(100);
    misses(steady, 12_000, popular);
    expect(steady.window()).toBe(0);
  });

  it("remembers a bounded number of ids, however many come", () => {
    const policy = createAdaptive(20);
    misses(policy, 20_000, (round) => (round % 3 === 0 ? round % 7 : 1_000 + round));
    expect(policy.known()).toBeLessThanOrEqual(20 + Math.max(64, 8 * 20));
    for (let id = 0; id < 7; id++) if (id % 3 === 0) expect(policy.has(id)).toBe(true);
  });

  it("goes on right after weights were scaled down", () => {
    // A half-life of 4 requests: weights reach their limit every 2,700 requests.
    const policy = createAdaptive(1, { halfLives: [4] });
    misses(policy, 10_000, (round) => (round < 5_000 ? round % 2 : 7));
    expect(policy.has(7)).toBe(true);
    expect(misses(policy, 5_000, () => 8)).toBeLessThan(20);
  });

  it("samples ids for its shadows where it holds many, and still learns", () => {
    const random = splitmix64(5);
    const query = (round: number): number => 1e6 * Math.floor(round / 15_000) + Math.floor(8_000 * random() ** 3);
    const paid = misses(createAdaptive(1_500), 60_000, query);
    expect(paid).toBeLessThan(misses(fixed(1_500), 60_000, query));
  });
});
