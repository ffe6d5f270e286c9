// What every policy of the response cache must hold, whatever it decides.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CachePolicy, CreatePolicy, Id } from "./policy.ts";

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

/** dropsAnswered: it may drop an answer that was just given, whatever room there is. */
export function describePolicy(name: string, create: CreatePolicy, { dropsAnswered = false } = {}): void {
  describe(name, () => {
    it("never holds more than fits, and holds exactly what it says", () => {
      fc.assert(
        fc.property(fc.nat(25), fc.array(event, { maxLength: 200 }), (capacity, events) =>
          held(create(capacity), capacity, events),
        ),
        { numRuns: 60 },
      );
    });

    it.skipIf(dropsAnswered)("keeps everything where everything fits", () => {
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
}
