import { describe, expect, it } from "vitest";
import { chartOf } from "./chart.ts";
import { type Row, rowsOf } from "./figures.ts";

const row = (policy: string, recomputed: number, kl: number, convention: "system" | "context" = "system"): Row =>
  rowsOf("nl2bash-10", [
    {
      tokens: 9,
      outcomes: [
        {
          convention: null,
          policy: "full",
          recomputed: 1,
          kl: 0,
          rougeL: 1,
          firstKl: 0,
          f1: 1,
          f1WithFull: 1,
          ttftMs: 1,
          cpuMs: 1,
        },
        { convention, policy, recomputed, kl, rougeL: 1, firstKl: 0, f1: 1, f1WithFull: 1, ttftMs: 1, cpuMs: 1 },
      ],
    },
  ])[1]!;

describe("chartOf", () => {
  const rows = [
    row("naive", 0, 0.2),
    row("last-1", 0.1, 0.15),
    row("last-2", 0.2, 0.1),
    row("last-2+attnlink-2", 0.25, 0.09),
    row("naive", 0, 0.1, "context"),
    row("blend-15", 0.15, 0.08, "context"),
  ];
  const svg = chartOf(rows, { "nl2bash-10": "10 examples", "nl2bash-20": "not measured" });
  const lines = [...svg.matchAll(/<polyline points="([^"]+)"/g)].map(([, points]) => points!.split(" ").length);

  it("draws a line a policy from naive on, in a panel for each workload and convention that was measured", () => {
    // last: naive, 1, 2; last+attnlink: from last-2; blend: naive and one.
    expect(lines).toEqual([3, 2, 2]);
    expect(svg.match(/10 examples, cached/g)).toHaveLength(2);
    expect(svg).not.toContain("not measured");
  });

  it("keeps every point within the picture", () => {
    const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg)!.map(Number);
    for (const [, x, y] of svg.matchAll(/cx="([\d.]+)" cy="([\d.]+)"/g)) {
      expect(Number(x)).toBeLessThan(width!);
      expect(Number(y)).toBeLessThan(height!);
    }
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("is empty, and valid, without rows", () => expect(chartOf([], {})).not.toMatch(/NaN|undefined|Infinity/));
});
