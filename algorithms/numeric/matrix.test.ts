import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addOuter, cholesky, multiply, packedIndex, packedLength, packedRows, solveCholesky } from "./matrix.ts";
import { normal, splitmix64 } from "./random.ts";

/** A random positive definite matrix: a sum of outer products and a ridge. */
function definite(n: number, seed: number, ridge: number, scale = 1): Float64Array {
  const random = splitmix64(seed);
  const packed = new Float64Array(packedLength(n));
  for (let k = 0; k < n + 2; k++)
    addOuter(
      packed,
      Float64Array.from({ length: n }, () => scale * normal(random)),
      1,
    );
  for (let i = 0; i < n; i++) packed[packedIndex(i, i)]! += ridge;
  return packed;
}

describe("matrix", () => {
  it("packs a symmetric matrix", () => {
    expect(packedRows(packedLength(24))).toBe(24);
    expect(packedIndex(2, 5)).toBe(packedIndex(5, 2));
    expect(() => packedRows(4)).toThrow("no packed triangle");
  });

  it("solves what it factors", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 24 }), fc.nat(), fc.constantFrom(1, 1e-6, 1e8), (n, seed, scale) => {
        const packed = definite(n, seed, 0.1 * scale * scale, scale);
        const x = Float64Array.from({ length: n }, (_, i) => Math.sin(i + 1));
        const solved = solveCholesky(cholesky(packed), multiply(packed, x));
        solved.forEach((value, i) => expect(value).toBeCloseTo(x[i]!, 7));
      }),
      { numRuns: 50 },
    );
  });

  it("survives a singular matrix and features of very different sizes", () => {
    const packed = new Float64Array(packedLength(3));
    addOuter(packed, [1, 1e6, 1e-6], 1);
    addOuter(packed, [1, 1e6, 1e-6], 1e9);
    const factor = cholesky(packed);
    expect([...factor].every(Number.isFinite)).toBe(true);
    const solved = solveCholesky(factor, multiply(packed, [1, 0, 0]));
    const back = multiply(packed, solved);
    multiply(packed, [1, 0, 0]).forEach((value, i) => expect(back[i]! / value).toBeCloseTo(1, 3));
  });

  it("refuses what is not positive definite or not finite", () => {
    expect(() => cholesky([1, 2, 1])).toThrow("not positive definite");
    expect(() => cholesky([0])).toThrow("diagonal element 0 is 0");
    expect(() => cholesky([1, Number.NaN, 1])).toThrow("not finite");
    expect(() => cholesky([Infinity])).toThrow("diagonal element 0");
  });
});
