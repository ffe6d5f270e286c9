import { expect, test } from "vitest";
import { figuresOf } from "./figures.ts";
import type { Outcome } from "./run.ts";

test("figures are of the requests of a phase; what failed or was lost counts as quality 0", () => {
  const of = (phase: string, latencyMs: number | undefined, arm: Outcome["arm"], quality: number): Outcome => ({
    ...{ phase, latencyMs, arm, quality },
  });
  const figures = figuresOf([
    ...[of("before", 10, "large", 1), of("before", 30, "small", 0)],
    ...[of("during", 100, "small", 1), of("during", undefined, null, 0)],
    of("after", 5, null, 0),
  ]);
  expect(figures).toMatchObject({
    p50_ms: { before: 20, during: Infinity, after: 5 },
    quality: { before: 0.5, during: 0.5, after: 0 },
    dear_share: { before: 0.5, during: 0, after: 0 },
    ...{ requests: 5, failed: 1, lost: 1 },
  });
});
