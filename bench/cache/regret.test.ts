// Regret over time: that of the best set is 0, that of a policy which never stops erring grows with
// time, and the offline policy holds the best set once it knows enough.
import { expect, test } from "vitest";
import { createLru } from "./baselines.ts";
import { exactKnapsack } from "./exact-knapsack.ts";
import { createOffline } from "./offline.ts";
import { regretOf } from "./regret.ts";
import { createStaticOptimum } from "./static.ts";
import { fixtureStream } from "./synthetic.ts";

const stream = fixtureStream(1, { rounds: 3_200 });

test("is 0 for the best fixed set, held from the beginning", () => {
  const best = createStaticOptimum(stream.capacity, stream.known!, { solve: exactKnapsack, preloaded: true });
  for (const regret of regretOf(stream, best)) expect(regret).toBeCloseTo(0, 6);
});

test("grows with time for LRU, which learns nothing, and slower offline", () => {
  const lru = regretOf(stream, createLru(stream.capacity));
  const offline = regretOf(stream, createOffline(stream, { scale: 0, solve: exactKnapsack }));
  expect(lru).toHaveLength(5);
  expect(lru[4]! / lru[3]!).toBeGreaterThan(1.8);
  expect(offline[4]!).toBeLessThan(lru[4]! / 3);
  expect(offline[4]! / offline[3]!).toBeLessThan(1.6);
});

test("the offline policy holds no more than fits, and what it removes is gone", () => {
  const offline = createOffline(stream, { scale: 0, solve: exactKnapsack });
  regretOf(stream, offline);
  const held = stream.known!.filter(({ id }) => offline.has(id));
  expect(offline.count()).toBe(held.length);
  expect(offline.used()).toBe(held.reduce((sum, { size }) => sum + size, 0));
  expect(offline.remove(held[0]!.id)).toBe(true);
  expect([offline.has(held[0]!.id), offline.remove(held[0]!.id)]).toEqual([false, false]);
});
