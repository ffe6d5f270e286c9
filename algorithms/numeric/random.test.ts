import { describe, expect, it } from "vitest";
import { drawIndex, normal, splitmix64 } from "./random.ts";

describe("splitmix64", () => {
  it("gives the published sequence", () => {
    // First outputs of the reference implementation for seed 1234567, shifted to 53 bits.
    const expected = [6457827717110365317n, 3203168211198807973n, 9817491932198370423n];
    const random = splitmix64(1234567);
    for (const value of expected) expect(random()).toBe(Number(value >> 11n) * 2 ** -53);
  });

  it("has normals with the right moments", () => {
    const random = splitmix64(7);
    const values = Array.from({ length: 20_000 }, () => normal(random));
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
    expect(mean).toBeCloseTo(0, 1);
    expect(variance).toBeCloseTo(1, 1);
  });
});

describe("drawIndex", () => {
  it("follows the weights and never takes a zero", () => {
    const random = splitmix64(3);
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < 10_000; i++) counts[drawIndex([0, 1, 3, 0], random)]! += 1;
    expect(counts[0]! + counts[3]!).toBe(0);
    expect(counts[2]! / 10_000).toBeCloseTo(0.75, 1);
    expect(drawIndex([0, 2, 0], () => 1 - 2 ** -53)).toBe(1);
    expect(() => drawIndex([0, 0], random)).toThrow("positive sum");
  });
});
