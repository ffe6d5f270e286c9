import fc from "fast-check";
import { expect, it } from "vitest";
import { createHeldCosts } from "./held-costs.ts";

it("holds each request once, until it is released or its time is over", () => {
  const held = createHeldCosts();
  held.hold("a", 2, 5_000);
  held.hold("a", 3, 5_000);
  held.hold("b", 0.5, 1_000);
  expect(held.sum(0)).toBe(3.5);
  expect(held.sum(1_000)).toBe(3);
  held.release("b");
  held.release("none");
  expect(held.sum(1_001)).toBe(3);
  held.release("a");
  expect(held.sum(1_002)).toBe(0);
});

it("holds nothing once all are released, whatever they cost", () => {
  const request = fc.record({ name: fc.string({ maxLength: 2 }), cost: fc.double({ min: 0, max: 1e6, noNaN: true }) });
  fc.assert(
    fc.property(fc.array(request), (requests) => {
      const held = createHeldCosts();
      for (const { name, cost } of requests) held.hold(name, cost, 10);
      for (const { name } of requests) held.release(name);
      expect(held.sum(0)).toBe(0);
    }),
  );
});
