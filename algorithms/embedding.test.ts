import fc from "fast-check";
import { expect, test } from "vitest";
import { embeddingFromBytes, embeddingToBytes } from "./embedding.ts";

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
