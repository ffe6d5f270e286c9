import { afterEach, expect, it } from "vitest";
import { startHealthServer, type HealthServer, type StageReport } from "./health.ts";
import { createMetricsRegistry, createStageMetrics } from "./metrics.ts";

let server: HealthServer | undefined;
afterEach(() => server?.close());

async function start(stages: Record<string, StageReport>) {
  const registry = createMetricsRegistry();
  server = await startHealthServer({ host: "127.0.0.1", port: 0, registry, stages: () => stages });
  return { url: server.url, registry };
}

it("serves metrics as Prometheus reads them", async () => {
  const { url, registry } = await start({});
  createStageMetrics(registry, "plan").received(2);
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
  expect(await response.text()).toContain('precedent_received_total{stage="plan"} 2');
});

it("is healthy when every stage has joined, with or without partitions", async () => {
  const stages = {
    plan: { joined: true, partitions: 8, inFlight: 1 },
    record: { joined: true, partitions: 0, inFlight: 0 },
  };
  const { url } = await start(stages);
  const response = await fetch(`${url}/healthz`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: "ok", problems: [], stages });
});

it("is not while a stage has not joined, sits on its records, or none is there", async () => {
  const stages: Record<string, StageReport> = {};
  const { url } = await start(stages);
  expect((await fetch(`${url}/healthz`)).status).toBe(503);
  stages["plan"] = { joined: false, partitions: 0, inFlight: 0 };
  stages["generate.cheap"] = { joined: true, partitions: 8, inFlight: 3, stalledMs: 400_000 };
  const response = await fetch(`${url}/healthz`);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    status: "unavailable",
    problems: ["plan has not joined its consumer group", "generate.cheap has finished nothing for 400 s"],
  });
});
