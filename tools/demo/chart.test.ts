import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { drawSeries, resample } from "./chart.ts";

describe("chart", () => {
  it("draws from 0 at the bottom to 1 at the top", () => {
    const lines = drawSeries([0, 0.5, 1], { width: 20, colour: "green", height: 4 }).map(stripVTControlCharacters);
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(/^ +1\.00 .*[─╭╮]/);
    expect(lines.at(-1)).toMatch(/^ +0\.00 /);
  });

  it("keeps the ends and the range whatever the number of points", () => {
    for (const width of [10, 33, 400]) {
      const points = resample([0.2, 0.9, 0.4, 0.6], width);
      expect(points.length).toBeLessThanOrEqual(width);
      expect(points[0]).toBeCloseTo(0.2, 12);
      expect(points.at(-1)).toBeCloseTo(0.6, 12);
      expect(Math.max(...points)).toBeLessThanOrEqual(0.9);
    }
  });
});
