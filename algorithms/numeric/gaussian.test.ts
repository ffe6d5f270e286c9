import { describe, expect, it } from "vitest";
import { erfc, normalCdf } from "./gaussian.ts";

describe("erfc", () => {
  it("agrees with the C library to 1e-14, relatively", () => {
    const reference: [number, number][] = [
      [-3, 1.9999779095030015],
      [-0.5, 1.5204998778130465],
      [0, 1],
      [0.1, 0.8875370839817152],
      [0.46, 0.5153446099983203],
      [0.5, 0.4795001221869535],
      [1, 0.15729920705028513],
      [2, 0.004677734981047265],
      [3.9, 3.479224859723177e-8],
      [4.1, 6.700027654084918e-9],
      [6, 2.1519736712498916e-17],
      [10, 2.088487583762545e-45],
      [20, 5.3958656116079005e-176],
    ];
    for (const [x, value] of reference) expect(Math.abs(erfc(x) / value - 1)).toBeLessThan(1e-14);
    expect(erfc(40)).toBe(0);
    expect(erfc(Infinity)).toBe(0);
    expect(erfc(-Infinity)).toBe(2);
  });

  it("is smooth where the approximations meet", () => {
    for (const x of [0.46875, 4]) expect(Math.abs(erfc(x - 1e-13) / erfc(x + 1e-13) - 1)).toBeLessThan(1e-11);
    expect(normalCdf(0)).toBe(0.5);
  });
});
