import fc from "fast-check";
import { expect, it } from "vitest";
import { createSlotHeap } from "./slot-heap.ts";
import { createSlots, longer } from "./slots.ts";

it("gives every id a number of its own, and numbers of forgotten ids again", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(20), fc.boolean()), { maxLength: 200 }), (steps) => {
      const slots = createSlots();
      const known = new Map<number, number>();
      for (const [id, forgets] of steps) {
        expect(slots.find(id)).toBe(known.get(id) ?? -1);
        if (forgets && known.has(id)) {
          slots.free(known.get(id)!);
          known.delete(id);
        } else if (!known.has(id)) known.set(id, slots.add(id));
        for (const [one, slot] of known) expect(slots.idOf(slot)).toBe(one);
        expect(new Set(known.values()).size).toBe(known.size);
        expect(slots.count()).toBe(known.size);
        for (const slot of known.values()) expect(slot).toBeLessThan(slots.length());
      }
    }),
  );
});

it("makes columns longer in time, and what was in them stays", () => {
  const slots = createSlots();
  let column = new Int32Array(0);
  slots.onGrowth((length) => (column = longer(column, length, -1)));
  for (let id = 0; id < 2_000; id++) {
    const slot = slots.add(`id ${id}`);
    column[slot] = id;
  }
  for (let id = 0; id < 2_000; id++) expect(column[slots.find(`id ${id}`)]).toBe(id);
  expect(column.at(-1)).toBe(-1);
});

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ slot: fc.nat(15), key: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ slot: fc.nat(15), key: fc.constant(null) }) },
);

it("a heap gives the least key first, and among equal ones the least id, as a sorted list does", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), fc.nat(5), (steps, rekeyed) => {
      const slots = createSlots();
      for (let i = 0; i < 16; i++) slots.add((7 * i) % 16);
      const heap = createSlotHeap(slots);
      const keys = new Map<number, number>();
      const least = (): number =>
        [...keys].toSorted(([a, x], [b, y]) => x - y || Number(slots.idOf(a)) - Number(slots.idOf(b)))[0]?.[0] ?? -1;
      for (const { slot, key } of steps) {
        if (key === null) {
          if (keys.delete(slot)) heap.remove(slot);
        } else {
          heap[keys.has(slot) ? "update" : "push"](slot, key);
          keys.set(slot, key);
        }
        expect(heap.first()).toBe(least());
        expect(heap.count()).toBe(keys.size);
        if (keys.size > 0) expect(heap.leastKey()).toBe(keys.get(least()));
        for (let one = 0; one < 16; one++) expect(heap.has(one)).toBe(keys.has(one));
      }
      for (const slot of keys.keys()) keys.set(slot, (slot * rekeyed) % 11);
      heap.rekey((slot) => (slot * rekeyed) % 11);
      for (; keys.size > 0; heap.remove(heap.first())) {
        expect(heap.first()).toBe(least());
        keys.delete(heap.first());
      }
    }),
  );
});
