// Counts the API's answers, refusals among them. Requests of the page and health checks don't
// count.
import type { FastifyInstance } from "fastify";
import type { GatewayMetrics } from "./metrics.ts";
import { isApi } from "./addresses.ts";
import { onceEnded } from "./closed.ts";

export function addMetrics(server: FastifyInstance, metrics: GatewayMetrics): void {
  server.addHook("onRequest", ({ routeOptions }, reply, done) => {
    const { url: route = "unknown" } = routeOptions;
    const began = performance.now();
    if (isApi(route))
      onceEnded(reply, (isComplete) => {
        metrics.answered(route, isComplete ? reply.raw.statusCode : "gone", performance.now() - began);
      });
    done();
  });
}
