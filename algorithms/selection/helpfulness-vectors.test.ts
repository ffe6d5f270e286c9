import fc from "fast-check";
import { expect, test } from "vitest";
import { centroidOf, createInteraction, wideDot } from "./helpfulness-vectors.ts";
import { project, PROJECTED, projectionOf } from "./projection.ts";

const dimension = 6;
const vectors = (minLength: number) =>
  fc.array(fc.float32Array({ minLength, maxLength: dimension, noNaN: true, min: -1, max: 1 }), {
    minLength: 1,
    maxLength: 11,
  });

test("the centroid is the sum in the candidates' order, shorter vectors too, at unit length", () => {
  fc.assert(
    fc.property(fc.oneof(vectors(dimension), vectors(0)), (given) => {
      const sum = new Float64Array(dimension);
      for (const vector of given) vector.forEach((value, j) => (sum[j]! += value));
      const length = Math.max(Math.sqrt(wideDot(sum, sum)), 1e-5 * given.length);
      const candidates = given.map((vector) => ({ vector }));
      expect(centroidOf(candidates, dimension)).toEqual(sum.map((value) => value / length));
    }),
  );
});

test("an interaction belongs to its question, whatever question came before", () => {
  const interact = createInteraction();
  const [one, other] = [Float32Array.of(0.6, 0.8, 0), Float32Array.of(0, 0.6, 0.8)];
  const candidate = Float32Array.of(0.8, 0, 0.6);
  const of = (question: Float32Array): Float64Array => {
    const products = new Float64Array(PROJECTED);
    interact(question, candidate, products);
    return products;
  };
  const expected = (question: Float32Array): Float64Array => {
    const products = new Float64Array(PROJECTED);
    project(
      projectionOf(3, Math.sqrt(3)),
      question.map((value, j) => value * candidate[j]!),
      products,
    );
    return products;
  };
  for (const question of [one, other, one, one]) {
    const products = of(question);
    expected(question).forEach((value, k) => expect(products[k]).toBeCloseTo(value, 6));
  }
});
