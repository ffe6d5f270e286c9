// After a burst every gauge tells the truth again, without another record to set it right: a gauge
// that none of the rules below knows fails the test.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";

const burst = 600;
const different = 20;
let folder: string;
let system: TestSystem;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-gauges-"));
  const file = join(folder, "pairs.jsonl");
  const questions = Array.from({ length: different }, (_, i) => `How is number ${i} written?`);
  await writeFile(file, questions.map((request) => JSON.stringify({ request, response: `as ${request}` })).join("\n"));
  system = await startSystem({
    cache: { enabled: true },
    arms: [
      { name: "queued", type: "recorded", file, cost: 0.1 },
      { name: "inline", type: "recorded", file, cost: 0.2, dispatch: "inline" },
    ],
  });
});
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Gauge {
  name: string;
  labels: Record<string, string | number>;
  value: number;
}
async function gauges(): Promise<Gauge[]> {
  const metrics = await system.session.metrics.getMetricsAsJSON();
  return metrics
    .filter(({ name, type }) => name.startsWith("precedent_") && String(type) === "gauge")
    .flatMap(({ name, values }) =>
      values.map(({ labels, value }) => ({ name, labels: labels as Gauge["labels"], value })),
    );
}

/** Gauges that are 0 while nothing is under way. */
const idle = /_lag_records|_in_flight|_stalled_seconds|_waiting|_pending|_damaged|_refused|_breaker$|_open$|unsent/;
/** Gauges of what is held or configured: what the system itself says of it. */
const held =
  /_load|_utilisation|_saturation|_policy_version|_cache_|_pool_|_embedder_texts|_index_|_healthy|_judge_due|_seen_ids/;

test("a burst leaves no gauge behind", { timeout: 120_000 }, async () => {
  const requests = Array.from({ length: burst }, (_, i) =>
    requestOf(`How is number ${i % different} written?`, { id: `b${i}` }),
  );
  await system.produce(requests);
  await Promise.all(requests.map(({ id }) => system.response(id)));
  await system.eventually("all rows", async () => {
    const [row] = await system.session.clickhouse.query<{ n: string }>("SELECT count() AS n FROM responses FINAL");
    return Number(row?.n) >= burst ? true : undefined;
  });
  const settled = await system.eventually("idle gauges at 0", async () => {
    const wrong = (await gauges()).filter(({ name, value }) => idle.test(name) && value !== 0);
    if (wrong.length > 0) throw new Error(JSON.stringify(wrong));
    return gauges();
  });
  const named = (name: string): Gauge[] => settled.filter((gauge) => gauge.name === name);
  expect(named("precedent_lag_records").filter(({ labels }) => labels.stage === "plan")).toHaveLength(4);
  expect(new Set(named("precedent_in_flight").map(({ labels }) => labels.stage))).toContain("generate.queued");
  expect(settled.filter(({ name }) => !idle.test(name) && !held.test(name))).toEqual([]);
  expect(named("precedent_seen_ids").map(({ value }) => value)).toEqual([burst]);
  expect(named("precedent_cache_entries").map(({ value }) => value)).toEqual([different]);
  for (const { labels, value } of named("precedent_arm_utilisation"))
    expect([labels.arm, value]).toEqual([labels.arm, 0]);
});
