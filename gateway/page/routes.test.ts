import Fastify from "fastify";
import { expect, it } from "vitest";
import type { Dashboard } from "./data/dashboard.ts";
import { addPageRoutes } from "./routes.ts";

it.each([
  [200, "requests?offset=49000&limit=200"],
  [400, "requests?offset=49001"],
  [400, "requests?offset=-1"],
  [400, "requests?limit=201"],
  [400, "requests?from=8640000000000001"],
  [400, "requests?from=NaN"],
  [400, "requests?sort=created_at"],
  [400, "requests?tenant=a&tenant=b"],
  [400, "requests?columns=text"],
  [400, "overview?until=-1"],
  [200, "overview?from=9&until=1"],
])("answers %i to %s", async (status, path) => {
  const server = Fastify();
  addPageRoutes(server, {
    mayLook: () => undefined,
    dashboard: { clickhouse: { query: () => Promise.resolve([]) } } as unknown as Dashboard,
    giveFeedback: () => Promise.resolve(),
    clock: () => 0,
  });
  server.setErrorHandler((error: { status?: number }, _incoming, reply) => reply.code(error.status ?? 500).send({}));
  expect((await server.inject(`/page/api/${path}`)).statusCode).toBe(status);
});
