import fc from "fast-check";
import { expect, test } from "vitest";
import { project, PROJECTED, projectionOf } from "./projection.ts";

const dimension = 5;

test("is the product with each row, summed from its first number to its last", () => {
  const columns = projectionOf(dimension);
  const vector = fc.float32Array({ minLength: 0, maxLength: dimension + 2 });
  fc.assert(
    fc.property(vector, (given) => {
      const products = new Float64Array(PROJECTED);
      project(columns, given, products);
      for (let k = 0; k < PROJECTED; k++) {
        let sum = 0;
        for (let j = 0; j < Math.min(dimension, given.length); j++) sum += columns[j * PROJECTED + k]! * given[j]!;
        expect(products[k]).toBe(sum);
      }
    }),
  );
});

test("is the same in every process, and only scaled by the scale", () => {
  const columns = projectionOf(dimension);
  expect(projectionOf(dimension)).toEqual(columns);
  expect(projectionOf(dimension, 3)).toEqual(columns.map((value) => 3 * value));
});
