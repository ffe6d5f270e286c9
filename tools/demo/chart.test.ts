import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { drawSeries, resample } from "./chart.ts";

describe("chart", () => {
  it("draws from 0 at the bottom to 1 at the top", () => {
    const series = [{ name: "share", values: [0, 0.5, 1], colour: "green" as const }];
    const lines = drawSeries(series, { width: 20, height: 4 }).map(stripVTControlCharacters);
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(/^ +1\.00 .*[─╭╮] +share$/);
    expect(lines.at(-1)).toMatch(/^ +0\.00 /);
  });

  it("draws several on one axis, which reaches the highest value", () => {
    const green = { name: "ours", values: [0, 1.5], colour: "green" as const };
    const flat = { name: "theirs", values: [0, 0], colour: "cyan" as const };
    const lines = drawSeries([flat, green], { width: 20, height: 3 }).map(stripVTControlCharacters);
    expect(lines[0]).toMatch(/^ +1\.50 .*[╭─] +ours$/);
    expect(lines.at(-1)).toMatch(/^ +0\.00 .*─ +theirs$/);
    const same = drawSeries([flat, { ...flat, name: "ours" }], { width: 20, height: 3 }).map(stripVTControlCharacters);
    expect(same.at(-1)).toMatch(/─ +theirs, ours$/);
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
