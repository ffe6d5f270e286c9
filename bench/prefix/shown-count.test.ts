import fc from "fast-check";
import { expect, it } from "vitest";
import { shownStep } from "./shown-count.ts";

it.each([
  [0, 0, 0],
  [1, 0, 0],
  [2, 0, 2],
  [7, 0, 4],
  [8, 4, 8],
  // Slightly below its step the step stays; far below, it falls.
  [7, 8, 8],
  [4, 8, 8],
  [3, 8, 2],
  [1, 2, 2],
  [0, 2, 0],
  [NaN, 0, 0],
  [-5, 4, 0],
  [Infinity, 0, 2 ** 30],
])("of %d uses, published as %d: %d", (count, published, step) => {
  expect(shownStep(count, published)).toBe(step);
});

it("changes as often as a count doubles, however it wavers in between", () => {
  const wavering = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 50, maxLength: 200 });
  fc.assert(
    fc.property(wavering, fc.integer({ min: 8, max: 1_000 }), (steps, around) => {
      let [published, changes] = [shownStep(around, 0), 0];
      for (const step of steps) {
        const next = shownStep(around + step, published);
        if (next !== published) changes++;
        published = next;
      }
      expect(changes).toBeLessThanOrEqual(1);
    }),
  );
});
