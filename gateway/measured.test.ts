import { once } from "node:events";
import { get } from "node:http";
import type { AddressInfo } from "node:net";
import pino from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { testTracing } from "../connections/tracing/tracing.testing.ts";
import { createGatewayMetrics } from "./metrics.ts";
import { ApiError } from "./errors.ts";
import { addMetrics } from "./measured.ts";
import { createServer } from "./server.ts";
import { addTracing } from "./tracing.ts";

test("answers, refusals and clients that leave are counted by route, and are spans; the page and health are not", async () => {
  const registry = new Registry();
  const server = createServer({ maxBodyBytes: 100, slowReaderMs: 1_000, log: pino({ level: "silent" }) });
  const metrics = createGatewayMetrics(registry);
  metrics.holds(
    () => 3,
    () => 5,
  );
  addMetrics(server, metrics);
  const tracing = testTracing();
  addTracing(server, tracing);
  server.get("/v1/models/:id", () => ({}));
  server.post("/v1/feedback", () => {
    throw new ApiError({ status: 429, code: "rate_limit_exceeded", message: "too many" });
  });
  server.get("/healthz", () => ({}));
  let left = (): void => undefined;
  const leaving = new Promise<void>((resolve) => (left = resolve));
  server.get("/v1/requests/:id", async (_request, reply) => {
    void reply.hijack();
    reply.raw.writeHead(200).write("a beginning");
    await once(reply.raw, "close");
    left();
  });

  await server.listen({ port: 0, host: "127.0.0.1" });
  const { port } = server.server.address() as AddressInfo;
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init);
  const json = { "content-type": "application/json" };
  for (const path of ["/v1/models/a", "/v1/models/b", "/v1/nothing", "/healthz"]) await ask(path);
  await ask("/v1/feedback", { method: "POST", headers: json, body: "{}" });
  const asked = get({ port, host: "127.0.0.1", path: "/v1/requests/r1" });
  await once(asked, "response");
  asked.on("error", () => undefined).destroy();
  await leaving;
  await server.close();

  const lines = (await registry.metrics()).split("\n");
  expect(lines.filter((line) => line.startsWith("precedent_gateway_answers_total")).sort()).toEqual([
    'precedent_gateway_answers_total{route="/v1/feedback",status="429"} 1',
    'precedent_gateway_answers_total{route="/v1/models/:id",status="200"} 2',
    'precedent_gateway_answers_total{route="/v1/requests/:id",status="gone"} 1',
    'precedent_gateway_answers_total{route="unknown",status="404"} 1',
  ]);
  expect(lines).toContain('precedent_gateway_seconds_count{route="/v1/models/:id"} 2');
  expect(lines).toContain("precedent_gateway_open 3");
  expect(lines).toContain("precedent_gateway_unsent_bytes 5");

  const outcomes = (await tracing.ended()).map(({ name, attributes }) => [
    name,
    attributes["http.response.status_code"] ?? attributes["precedent.outcome"],
  ]);
  expect(outcomes.sort()).toEqual([
    ["GET /v1/models/:id", 200],
    ["GET /v1/models/:id", 200],
    ["GET /v1/requests/:id", "client_gone"],
    ["POST /v1/feedback", 429],
  ]);
});
