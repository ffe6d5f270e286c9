import fc from "fast-check";
import { expect, it } from "vitest";
import { createRecencyList, type Linked } from "./recency.ts";

interface Member extends Linked<Member> {
  id: number;
}

it("keeps the order of last use, as a list that is searched does", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(6), fc.boolean())), (steps) => {
      const members = Array.from({ length: 7 }, (_, id): Member => ({ id, older: null, newer: null, listed: false }));
      const list = createRecencyList<Member>();
      let expected: number[] = [];
      for (const [id, touches] of steps) {
        expected = expected.filter((other) => other !== id);
        if (touches) expected.push(id);
        list[touches ? "touch" : "remove"](members[id]!);
        expect(list.size()).toBe(expected.length);
        expect(list.oldest()?.id).toBe(expected[0]);
      }
      const order: number[] = [];
      for (let next = list.oldest(); next !== null; next = next.newer) order.push(next.id);
      expect(order).toEqual(expected);
    }),
  );
});
