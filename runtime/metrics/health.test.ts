import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { afterEach, expect, it } from "vitest";
import { startHealthServer, type HealthOptions, type StageReport } from "./health.ts";
import { createMetricsRegistry, createStageMetrics } from "./stage.ts";

type HealthServer = Awaited<ReturnType<typeof startHealthServer>>;

let server: HealthServer | undefined;
afterEach(() => server?.close());

async function start(stages: Record<string, StageReport>, more: Partial<HealthOptions> = {}) {
  const registry = createMetricsRegistry();
  server = await startHealthServer({ host: "127.0.0.1", port: 0, registry, stages: () => stages, ...more });
  return { url: server.url, registry };
}

it("serves metrics as Prometheus reads them", async () => {
  const { url, registry } = await start({});
  createStageMetrics(registry, "plan").received(2);
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
  expect(await response.text()).toContain('precedent_received_total{stage="plan"} 2');
});

it.each(["evil.example", "127.0.0.1.evil.example:9464", "10.0.0.7"])(
  "answers nothing under the name %s",
  async (host) => {
    const { url } = await start({});
    for (const path of ["/metrics", "/healthz", "/%", "/else"]) {
      const [response] = (await once(get(`${url}${path}`, { headers: { host } }), "response")) as [IncomingMessage];
      expect(response.resume().statusCode, path).toBe(path === "/%" ? 400 : 403);
    }
  },
);

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
  stages["generate.small"] = { joined: true, partitions: 8, inFlight: 3, stalledMs: 400_000 };
  const response = await fetch(`${url}/healthz`);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    status: "unavailable",
    problems: ["plan has not joined its consumer group", "generate.small has finished nothing for 400 s"],
  });
});

it("tells what stages say of themselves, a table that waits for long, and both as metrics", async () => {
  const stages: Record<string, StageReport> = {
    plan: { joined: true, partitions: 8, inFlight: 1, stalledMs: 4_000 },
    record: { joined: true, partitions: 8, inFlight: 0, stalledMs: 200_000, problems: ["rows are not stored"] },
  };
  const at = (partition: number, seconds: number) => ({
    ...{ topic: "response-cache", partition, stable: 7, high: 12, since: Date.now() - 1_000 * seconds },
  });
  const { url } = await start(stages, { stalledAfterMs: 180_000, stuck: () => [at(3, 400), at(4, 20)] });
  const response = await fetch(`${url}/healthz`);
  expect(response.status).toBe(503);
  expect((await response.json()) as object).toMatchObject({
    problems: [
      "record: rows are not stored",
      expect.stringMatching(/^table response-cache\/3: no progress for 400 s .* keeps 5 offsets from 7 on/),
    ],
  });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('precedent_healthy{stage="plan"} 1');
  expect(metrics).toContain('precedent_healthy{stage="record"} 0');
  expect(metrics).toContain('precedent_stalled_seconds{stage="plan"} 4');
});
