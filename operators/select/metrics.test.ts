import { expect, it } from "vitest";
import { createMetricsRegistry } from "../../runtime/metrics/stage.ts";
import { createSelectionMetrics } from "./metrics.ts";

it("counts candidates, examples shown, reasons and explored requests", async () => {
  const registry = createMetricsRegistry();
  const metrics = createSelectionMetrics(registry);
  expect(createSelectionMetrics(registry)).toBe(metrics);
  const reasons = (...all: string[]) => all.map((reason) => ({ reason }));
  const atHand = { reason: "shown", candidate: { cached: true } };
  const small = {
    examples: [1, 2],
    settled: [atHand, ...reasons("forced_in")],
    open: 2,
    trial: {},
    order: { order: "random" },
  };
  metrics.count({ candidates: 4, byArm: new Map([["small", small]]), exploredThreshold: null });
  const none = { examples: [], settled: [], open: 0, trial: null, order: { order: "best_last" } };
  metrics.count({ candidates: 0, byArm: new Map([["small", none]]), exploredThreshold: 0.4 });

  const lines = (await registry.metrics()).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      'precedent_selection_candidates_bucket{le="0"} 1',
      "precedent_selection_candidates_sum 4",
      'precedent_selection_examples_sum{arm="small"} 2',
      'precedent_selection_candidates_total{arm="small",reason="too_many"} 2',
      'precedent_selection_candidates_total{arm="small",reason="forced_in"} 1',
      'precedent_selection_cached_total{arm="small",cached="yes"} 1',
      'precedent_selection_cached_total{arm="small",cached="no"} 1',
      'precedent_selection_explored_total{kind="trial"} 1',
      'precedent_selection_explored_total{kind="threshold"} 1',
      'precedent_selection_explored_total{kind="order"} 1',
    ]),
  );
});
