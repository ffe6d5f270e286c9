import fc from "fast-check";
import { expect, it } from "vitest";
import { createSlotList } from "./slot-list.ts";
import { createSlots } from "./slots.ts";

it("keeps the order of last use, as a list that is searched does", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(6), fc.boolean())), (steps) => {
      const slots = createSlots();
      const list = createSlotList(slots);
      for (let id = 0; id < 7; id++) slots.add(id);
      let expected: number[] = [];
      for (const [slot, touches] of steps) {
        expected = expected.filter((other) => other !== slot);
        if (touches) expected.push(slot);
        list[touches ? "touch" : "remove"](slot);
        expect(list.count()).toBe(expected.length);
        expect(list.oldest()).toBe(expected[0] ?? -1);
        for (let other = 0; other < 7; other++) expect(list.has(other)).toBe(expected.includes(other));
      }
      const order: number[] = [];
      for (let next = list.oldest(); next >= 0; next = list.oldest()) {
        order.push(next);
        list.remove(next);
      }
      expect(order).toEqual(expected);
    }),
  );
});
