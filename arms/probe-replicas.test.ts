// precedent doctor on an arm with replicas: each is called, and each load is read.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { armSchema, type OpenAiArmConfig } from "../config/schema.ts";
import { probeReplicas } from "./probe-replicas.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Calls of it are counted; `metrics`: what it reports, or a status. */
async function replica(metrics: string | number, calls: string[] = []): Promise<string> {
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url} ${request.headers.host}`);
    if (request.url !== "/metrics")
      request
        .resume()
        .on("end", () => response.end('{"choices":[{"message":{"content":"OK"}}],"usage":{"prompt_tokens":3}}'));
    else if (typeof metrics === "number") response.writeHead(metrics).end();
    else response.end(metrics);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
const arm = (more: object): OpenAiArmConfig =>
  armSchema.parse({
    name: "large",
    type: "openai",
    model: "m",
    stream: false,
    tools: true,
    ...more,
  }) as OpenAiArmConfig;
const gauges = "vllm:num_requests_running 2\nvllm:num_requests_waiting 1\nvllm:kv_cache_usage_perc 0.5\n";
const gone = "http://127.0.0.1:2/v1";

it("says which replica is away and which reports no load, and that the arm still answers", async () => {
  const [good, silent] = [await replica(gauges), await replica(404)];
  const found = await probeReplicas(arm({ endpoints: [good, silent, gone], metricsUrl: "/metrics" }));
  expect(found.map(({ of, state }) => [of, state])).toEqual([
    [good, "fine"],
    [`${good} metrics`, "fine"],
    [silent, "fine"],
    [`${silent} metrics`, "lacking"],
    [gone, "lacking"],
    [`${gone} metrics`, "lacking"],
  ]);
  expect(found[1]?.detail).toMatch(/2 running, 1 waiting, 50 % of its KV cache/);
  expect(found[3]?.detail).toMatch(/metrics: status 404/);
  expect(found[5]?.detail).toMatch(/ECONNREFUSED/);
});

it("says that an arm is missing whose replicas are all away", async () => {
  const found = await probeReplicas(arm({ endpoints: [gone, "http://127.0.0.1:3/v1"] }));
  expect(found.map(({ state }) => state)).toEqual(["missing", "missing"]);
});

it("calls every address of a host by the host's name; a host without any is missing", async () => {
  const calls: string[] = [];
  const port = new URL(await replica(gauges, calls)).port;
  const named = arm({ baseUrl: `http://engine.internal:${port}/v1`, discover: "dns", metricsUrl: "/metrics" });
  const found = await probeReplicas(named, () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]));
  expect(found.map(({ of, state }) => [of, state])).toEqual([
    [`http://127.0.0.1:${port}/v1`, "fine"],
    [`http://127.0.0.1:${port}/v1 metrics`, "fine"],
  ]);
  expect(calls.sort()).toEqual([
    `GET /metrics engine.internal:${port}`,
    `POST /v1/chat/completions engine.internal:${port}`,
  ]);
  for (const lookup of [() => Promise.resolve([]), () => Promise.reject(new Error("ENOTFOUND"))])
    expect(await probeReplicas(named, lookup)).toMatchObject([{ of: "", state: "missing" }]);
});

it("calls no more than 16 of many", async () => {
  const endpoints = Array.from({ length: 20 }, (_, i) => `http://127.0.0.1:2/v1/${i}`);
  const found = await probeReplicas(arm({ endpoints }));
  expect(found).toHaveLength(17);
  expect(found.at(-1)?.detail).toBe("4 more replicas, which were not called");
});
