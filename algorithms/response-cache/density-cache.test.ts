import fc from "fast-check";
import { expect, it } from "vitest";
import { createDensityCache, type Known } from "./density-cache.ts";
import { createSlots } from "./slots.ts";

const ids = 12;
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("asked" as const), slot: fc.nat(ids - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), slot: fc.nat(ids - 1) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("resize" as const),
      slot: fc.nat(ids - 1),
      size: fc.integer({ min: 1, max: 30 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("rule" as const), window: fc.constantFrom(0, 0.1, 0.5, 1) }),
  },
);

it("holds exactly the entries that it reports, within its capacity, for any window", () => {
  fc.assert(
    fc.property(fc.nat(60), fc.array(step, { maxLength: 200 }), (capacity, steps) => {
      const slots = createSlots();
      for (let id = 0; id < ids; id++) slots.add(id);
      const known: Known = {
        sizes: Float64Array.from({ length: ids }, (_, i) => 1 + (i % 7)),
        values: Float64Array.from({ length: ids }, (_, i) => 1 + (i % 5)),
        ...{ popularity: new Float64Array(ids).fill(1), halfLives: 1 },
      };
      const cache = createDensityCache(slots, known, capacity, { halfLife: 0, window: 0 });
      const held = new Set<number>();
      const leave = (): void => cache.victims.forEach((slot) => expect(held.delete(slot)).toBe(true));
      for (const one of steps) {
        if (one.kind === "asked") {
          known.popularity[one.slot]!++;
          if (held.has(one.slot)) cache.changed(one.slot, true);
          else {
            const admitted = cache.admit(one.slot);
            leave();
            if (admitted) held.add(one.slot);
          }
        } else if (one.kind === "remove") {
          if (held.delete(one.slot)) cache.remove(one.slot);
        } else if (one.kind === "resize") {
          const left = held.has(one.slot) && cache.resize(one.slot, one.size - known.sizes[one.slot]!);
          known.sizes[one.slot] = one.size;
          if (left) held.delete(one.slot);
          else if (held.has(one.slot)) cache.changed(one.slot, false);
        } else cache.setRule({ halfLife: 0, window: one.window });
        for (let slot = 0; slot < ids; slot++) expect(cache.has(slot)).toBe(held.has(slot));
        expect(cache.count()).toBe(held.size);
        expect(cache.used()).toBe([...held].reduce((sum, slot) => sum + known.sizes[slot]!, 0));
        expect(cache.used()).toBeLessThanOrEqual(capacity);
      }
    }),
  );
});

it("a new answer always enters the window, and competes once it is the oldest there", () => {
  const slots = createSlots();
  for (let id = 0; id < 5; id++) slots.add(id);
  const known: Known = {
    sizes: new Float64Array(5).fill(1),
    values: Float64Array.from([9, 8, 1, 1, 7]),
    ...{ popularity: new Float64Array(5).fill(1), halfLives: 1 },
  };
  const cache = createDensityCache(slots, known, 3, { halfLife: 0, window: 0.34 });
  for (const slot of [0, 1, 4]) expect(cache.admit(slot)).toBe(true);
  expect(cache.admit(2)).toBe(true);
  expect(cache.victims).toEqual([4]);
  expect(cache.admit(3)).toBe(true);
  expect(cache.victims).toEqual([2]);
  known.popularity[3] = 100;
  expect(cache.admit(4)).toBe(true);
  expect(cache.victims).toEqual([1]);
  expect([0, 3, 4].every(cache.has)).toBe(true);
});
