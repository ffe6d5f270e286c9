import { describe, expect, it } from "vitest";
import { panelsOf } from "./drawing.ts";
import type { Row } from "./figures.ts";

const row = (workload: string, convention: string | null, policy: string, n: number): Row =>
  ({ workload, convention, policy, n }) as Row;

describe("panelsOf", () => {
  it("takes a whole panel from the run of the passages, and all others from the whole run", () => {
    const all = [
      row("nl2bash-10", "context", "naive", 60),
      row("musique-200", null, "full", 12),
      row("musique-200", "context", "naive", 12),
      row("musique-200", "context", "attnlink-8", 12),
      row("musique-200", "system", "naive", 12),
    ];
    const passages = [row("musique-200", null, "full", 24), row("musique-200", "context", "naive", 24)];
    const drawn = panelsOf(all, passages).filter(({ convention }) => convention !== null);
    expect(drawn.map(({ workload, convention, n }) => [workload, convention, n])).toEqual([
      ["nl2bash-10", "context", 60],
      ["musique-200", "system", 12],
      ["musique-200", "context", 24],
    ]);
    expect(panelsOf(all, [])).toEqual(all);
  });
});
