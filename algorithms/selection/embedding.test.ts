import fc from "fast-check";
import { expect, test } from "vitest";
import { dot, embeddingFromBytes, embeddingToBytes } from "./embedding.ts";

test("embeddings keep their numbers through bytes, whatever their offset", () => {
  fc.assert(
    fc.property(fc.array(fc.float({ noNaN: true, min: -1, max: 1 }), { minLength: 3, maxLength: 3 }), (values) => {
      const length = Math.hypot(...values);
      fc.pre(length > 0.01);
      const vector = Float32Array.from(values, (value) => value / length);
      const shifted = Buffer.concat([Buffer.alloc(3), embeddingToBytes(vector)]).subarray(3);
      expect(embeddingFromBytes(shifted, 3)).toEqual(vector);
      expect(embeddingFromBytes(shifted.subarray(1), 3)).toHaveProperty("reason");
    }),
  );
});

test("the inner product is the sum of the products, of as many numbers as both have", () => {
  const numbers = fc.float32Array({ noNaN: true, min: -1, max: 1, maxLength: 40 });
  fc.assert(
    fc.property(numbers, numbers, (a, b) => {
      const length = Math.min(a.length, b.length);
      let sum = 0;
      for (let i = 0; i < length; i++) sum += a[i]! * b[i]!;
      expect(dot(a, b)).toBeCloseTo(sum, 10);
      expect(dot(b, a)).toBe(dot(a, b));
      expect(dot(Float64Array.from(a), b)).toBe(dot(a, b));
      expect(dot(a.subarray(0, length), b.subarray(0, length))).toBe(dot(a, b));
    }),
  );
});
