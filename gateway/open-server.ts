// The HTTP server with all its addresses; it does not listen yet.
import type { FastifyInstance } from "fastify";
import { pageFolder } from "../config/assets.ts";
import type { SessionOf } from "../state/session.ts";
import { addAccess, createAccess, createAdminAccess, createTokenAccess } from "./access.ts";
import { createFeedbackTokens } from "./feedback-token.ts";
import type { KeyTable } from "./keys/table.ts";
import { addMetrics } from "./measured.ts";
import { createGatewayMetrics } from "./metrics.ts";
import type { Dashboard } from "./page/data/dashboard.ts";
import { createMayLook } from "./page/access.ts";
import { addFiles, readFiles } from "./page/files.ts";
import { addLive } from "./page/live.ts";
import { addPageRoutes } from "./page/routes.ts";
import { addApi, type ApiDependencies } from "./routes/api.ts";
import { publish } from "./routes/feedback.ts";
import { createServer } from "./server.ts";
import { addTracing } from "./tracing.ts";
import { createUnsent } from "./unsent.ts";

export interface ServerParts extends Omit<ApiDependencies, "callerOf" | "spanOf" | "tokens" | "streams"> {
  keys: KeyTable;
  dashboard: Dashboard;
  log: SessionOf<object>["log"];
}

/** A week. */
const feedbackTokenMs = 7 * 86_400_000;

export function openServer(
  { config, metrics: registry, tracing }: SessionOf<object>,
  { keys, dashboard, log, ...parts }: ServerParts,
): FastifyInstance {
  const { maxBodyBytes, maxOpen, slowReaderMs, heartbeatMs, maxUnsentBytes } = config.gateway;
  const { feedbackSecret: secret } = config.gateway;
  const metrics = createGatewayMetrics(registry);
  const unsent = createUnsent({
    maxBytes: maxUnsentBytes,
    onCut(bytes) {
      metrics.cut();
      log.warn({ bytes, maxUnsentBytes }, "a slow reader is disconnected: all together have left too much unread");
    },
  });
  // Slow readers of answered streams hold connections, too.
  const maxConnections = 2 * maxOpen + 64;
  const server = createServer({ maxBodyBytes, slowReaderMs, unsent, maxConnections, log });
  const tokens =
    secret === undefined ? undefined : createFeedbackTokens({ secret, lifeMs: feedbackTokenMs, now: parts.clock });
  const access = createAccess(keys);
  const mustBeAdmin = createAdminAccess(keys);
  const feedbackBy = createTokenAccess({ tokens, keys }, access);
  const callerOf = addAccess(server, { callerOf: access, mustBeAdmin, feedbackBy });
  metrics.holds(parts.connectionLimit.open, unsent.total);
  addMetrics(server, metrics);
  const spanOf = addTracing(server, tracing);
  addApi(server, { ...parts, callerOf, spanOf, tokens, streams: { heartbeatMs, slowReaderMs, unsent } });
  const { send, connectionLimit, clock, session } = parts;
  const publishing = { send, connectionLimit, codec: session.codec, topic: session.topic("feedback") };
  const mayLook = createMayLook(mustBeAdmin);
  addPageRoutes(server, { mayLook, dashboard, clock, giveFeedback: (feedback) => publish(publishing, [feedback]) });
  addLive(server, { mayLook, dashboard });
  addFiles(server, readFiles(pageFolder()));
  return server;
}
