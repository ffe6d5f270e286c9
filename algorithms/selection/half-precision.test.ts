import fc from "fast-check";
import { expect, test } from "vitest";
import { fromHalf, readHalves, toHalf, writeHalves } from "./half-precision.ts";

test("known numbers", () => {
  expect([0, 1, -1, 0.5, 2 ** -24, 65_504, 1 / 3].map(toHalf)).toEqual([
    0x0000, 0x3c00, 0xbc00, 0x3800, 0x0001, 0x7bff, 0x3555,
  ]);
  expect([toHalf(1e6), toHalf(1e-9)]).toEqual([0x7c00, 0]);
  expect(fromHalf(0x7c00)).toBe(Infinity);
});

test("every finite half comes back as itself", () => {
  for (let half = 0; half < 0x7c00; half++) expect(toHalf(fromHalf(half))).toBe(half);
});

test("numbers of unit vectors are off by at most half a unit in the last place", () => {
  fc.assert(
    fc.property(fc.float({ min: -1, max: 1, noNaN: true }), (value) => {
      const error = Math.abs(fromHalf(toHalf(value)) - value);
      expect(error).toBeLessThanOrEqual(Math.max(2 ** -25, Math.abs(value) * 2 ** -11));
    }),
  );
});

test("vectors keep their numbers through bytes, whatever their offset", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0x7bff }), { maxLength: 40 }), fc.nat(9), (halves, offset) => {
      const vector = Float32Array.from(halves, fromHalf);
      const bytes = Buffer.alloc(offset + 2 * vector.length);
      writeHalves(bytes, offset, vector);
      const read = new Float32Array(vector.length);
      readHalves(bytes, offset, read);
      expect(read).toEqual(vector);
    }),
  );
});
