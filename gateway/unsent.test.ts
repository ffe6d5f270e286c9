import { expect, it } from "vitest";
import { createUnsent } from "./unsent.ts";

const connection = () => ({
  destroyed: false,
  destroy() {
    this.destroyed = true;
    return this as never;
  },
});

it("disconnects who holds most, until the rest is within the bound", () => {
  const cut: number[] = [];
  const unsent = createUnsent({ maxBytes: 100, onCut: (bytes) => cut.push(bytes) });
  const [a, b, c] = [connection(), connection(), connection()];
  unsent.holds(a, 50);
  unsent.holds(b, 30);
  unsent.holds(c, 20);
  expect([cut, unsent.total()]).toEqual([[], 100]);
  unsent.holds(c, 21);
  expect([a.destroyed, b.destroyed, c.destroyed, cut, unsent.total()]).toEqual([true, false, false, [50], 51]);
  // Late news of one that is closed.
  unsent.holds(a, 70);
  unsent.holds(b, 0);
  expect([unsent.total(), cut.length]).toEqual([21, 1]);
  unsent.holds(c, 101);
  expect([c.destroyed, unsent.total()]).toEqual([true, 0]);
});
