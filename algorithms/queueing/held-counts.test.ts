import { expect, it } from "vitest";
import { createHeldCounts } from "./held-counts.ts";

it("counts by owner what is taken and not given back, each once", () => {
  const held = createHeldCounts();
  const [first, second, other] = [held.take("a"), held.take("a"), held.take("b")];
  expect(["a", "b", "c"].map(held.of)).toEqual([2, 1, 0]);
  expect(held.total()).toBe(3);
  first();
  first();
  other();
  expect(["a", "b"].map(held.of)).toEqual([1, 0]);
  expect(held.total()).toBe(1);
  second();
  expect(held.of("a")).toBe(0);
  held.take("a");
  expect(held.of("a")).toBe(1);
});
