import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { knapsack } from "../selection/knapsack.ts";
import { createAdaptive } from "./adaptive.ts";
import { createGdsf, createLec1, createLecm, createLfu, createLru } from "./baselines.ts";
import type { CachePolicy, CreatePolicy, Id } from "./policy.ts";
import { createVsocb } from "./vsocb.ts";

const horizon = { rounds: 400, queries: 12, solve: knapsack };
const all: Readonly<Record<string, CreatePolicy>> = {
  adaptive: (capacity) => createAdaptive(capacity),
  lec1: createLec1(),
  lecm: createLecm(),
  lru: createLru,
  lfu: createLfu,
  gdsf: createGdsf,
  vsocb: (capacity) => createVsocb(capacity, { ...horizon, alpha: 0.5, scale: 1 }),
  vsocb_scaled: (capacity) => createVsocb(capacity, { ...horizon, alpha: 0.5, scale: 0.01 }),
  vsocb_means: (capacity) => createVsocb(capacity, { ...horizon, alpha: 0.5, scale: 0 }),
  vsocb_lazy: (capacity) => createVsocb(capacity, { ...horizon, alpha: 0.1, scale: 0, lazy: true }),
  vsocb_as_printed: (capacity) =>
    createVsocb(capacity, { ...horizon, alpha: 0.5, scale: 0, flushWorthless: true, dropAnswered: true }),
};

type Event =
  | { kind: "request"; id: number; cost: number }
  | { kind: "remove"; id: number }
  | { kind: "told"; id: number; size: number };

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("request" as const), id: fc.nat(11), cost: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), id: fc.nat(11) }) },
  // Another process answered, or the answer to an id changed in size.
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("told" as const), id: fc.nat(11), size: fc.integer({ min: 1, max: 30 }) }),
  },
);

/** Plays events and holds the policy to its word: what it says left or stayed is what it holds. */
function held(policy: CachePolicy, capacity: number, events: readonly Event[]): void {
  const mirror = new Map<Id, number>();
  const leave = (evicted: readonly Id[]): void => evicted.forEach((id) => expect(mirror.delete(id)).toBe(true));
  const answered = (id: number, size: number, cost: number): void => {
    const { admitted, evicted } = policy.answered(id, size, cost);
    const before = mirror.has(id);
    if (before && !admitted && !evicted.includes(id)) mirror.delete(id);
    leave(evicted);
    if (admitted) mirror.set(id, size);
  };
  for (const one of events) {
    if (one.kind === "remove") expect(policy.remove(one.id)).toBe(mirror.delete(one.id));
    else if (one.kind === "told") answered(one.id, one.size, 1);
    else {
      const { hit, evicted } = policy.arrive(one.id);
      expect(hit).toBe(mirror.has(one.id));
      leave(evicted);
      if (!hit) answered(one.id, 1 + (one.id % 7), 1 + one.cost);
    }
    const bytes = [...mirror.values()].reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThanOrEqual(capacity);
    expect(policy.used()).toBe(bytes);
    expect(policy.count()).toBe(mirror.size);
    for (let id = 0; id < 12; id++) expect(policy.has(id)).toBe(mirror.has(id));
  }
}

describe.each(Object.entries(all))("%s", (name, create) => {
  it("never holds more than fits, and holds exactly what it says", () => {
    fc.assert(
      fc.property(fc.nat(25), fc.array(event, { maxLength: 200 }), (capacity, events) =>
        held(create(capacity), capacity, events),
      ),
      { numRuns: 60 },
    );
  });

  // As printed, a call of the oracle drops the query that was just answered.
  it.skipIf(name === "vsocb_as_printed")("keeps everything where everything fits", () => {
    const policy = create(1_000);
    for (let round = 0; round < 100; round++) {
      const { hit } = policy.arrive(round % 10);
      expect(hit).toBe(round >= 10);
      if (!hit) expect(policy.answered(round % 10, 5, 1).admitted).toBe(true);
    }
  });

  it("takes nothing that is larger than itself, and no answer without size or cost", () => {
    const policy = create(10);
    policy.arrive("x");
    expect(policy.answered("x", 11, 1).admitted).toBe(false);
    for (const [size, cost] of [
      [0, 1],
      [1, 0],
      [Number.NaN, 1],
      [1, Infinity],
    ] as const)
      expect(() => policy.answered("x", size, cost)).toThrow(RangeError);
    expect(() => create(-1)).toThrow(RangeError);
  });
});
