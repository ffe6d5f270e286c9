import { afterEach, expect, test } from "vitest";
import type { PoolFigures } from "./port.ts";
import { createMetricsRegistry } from "../../runtime/metrics/stage.ts";
import { observePool } from "./metrics.ts";

const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

const index = (domain: string, size: number, recall: number | null): PoolFigures["indexes"][number] => ({
  domain,
  figures: { kind: "ivf", size, lists: 8, probes: 2, recall, recallSamples: 1, building: false, swaps: 1 },
});
const embedder = { figures: () => ({ waiting: 3, background: 4, computed: 5, cached: 6, refused: 7 }) };

test("shows what two stages hold, and of their largest domains how they search", async () => {
  const registry = createMetricsRegistry();
  let indexes = [index("acme/a", 9, 0.97), index("acme/b", 8, null), index("acme/c", 7, 1)];
  const figures = () => ({ examples: 24, domains: 3, pending: 2, damaged: 1, rebuilds: 0, indexes });
  for (const stage of ["plan", "curate"])
    stops.push(observePool({ registry, stage, pool: { figures }, embedder, domains: 2 }).stop);
  const text = await registry.metrics();
  expect(text).toContain('precedent_pool_examples{stage="plan"} 24');
  expect(text).toContain('precedent_pool_pending{stage="curate"} 2');
  expect(text).toContain('precedent_embedder_waiting{stage="plan",kind="background"} 4');
  expect(text).toContain('precedent_embedder_texts{stage="plan",outcome="refused"} 7');
  expect(text).toContain('precedent_index_recall{stage="plan",domain="acme/a"} 0.97');
  expect(text).toContain('precedent_index_size{stage="plan",domain="acme/b"} 8');
  expect(text).not.toContain('precedent_index_recall{stage="plan",domain="acme/b"}');
  expect(text).not.toContain("acme/c");

  indexes = [index("acme/c", 70, 0.5)];
  const { read, stop } = observePool({ registry, stage: "plan", pool: { figures }, embedder, domains: 2 });
  stops.push(stop);
  indexes = [index("acme/a", 71, 0.6)];
  read();
  const later = await registry.metrics();
  expect(later).toContain('precedent_index_size{stage="plan",domain="acme/a"} 71');
  expect(later).not.toContain('{stage="plan",domain="acme/c"}');

  for (const end of stops.splice(0)) end();
  expect(await registry.metrics()).not.toMatch(/stage="/);
});
