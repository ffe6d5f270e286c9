// /metrics for Prometheus and /healthz for whoever restarts us. Healthy means: every stage of this process has joined its
// group and does not sit on records that it never finishes. Being without partitions is healthy (there may be more
// processes than partitions).
import fastify from "fastify";
import type { Registry } from "prom-client";

/** What a stage says about itself; the stages of stage.ts fit. */
export interface StageReport {
  joined: boolean;
  partitions: number;
  inFlight: number;
  /** Milliseconds since a record was last finished while others were under way; absent: not known or nothing under way. */
  stalledMs?: number;
  /** What keeps it from working, in its own words. */
  problems?: readonly string[];
}

export interface HealthOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  registry: Registry;
  stages: () => Readonly<Record<string, StageReport>>;
  /** Milliseconds without progress that are ill. */
  stalledAfterMs?: number;
}

export interface HealthServer {
  /** http://host:port */
  url: string;
  close(): Promise<void>;
}

export async function startHealthServer({
  host,
  port,
  registry,
  stages,
  stalledAfterMs = 300_000,
}: HealthOptions): Promise<HealthServer> {
  const server = fastify({ logger: false, forceCloseConnections: true });

  server.get("/metrics", async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  server.get("/healthz", async (_request, reply) => {
    const reports = Object.entries(stages());
    const ill = reports.flatMap(([name, report]) => problemOf(name, report, stalledAfterMs));
    if (reports.length === 0) ill.push("no stage runs yet");
    const body = {
      status: ill.length === 0 ? "ok" : "unavailable",
      problems: ill,
      stages: Object.fromEntries(reports),
    };
    return reply.code(ill.length === 0 ? 200 : 503).send(body);
  });

  const url = await server.listen({ host, port });
  return { url, close: () => server.close() };
}

function problemOf(name: string, { joined, stalledMs, problems = [] }: StageReport, limit: number): string[] {
  if (!joined) return [`${name} has not joined its consumer group`];
  if (stalledMs !== undefined && stalledMs > limit)
    return [`${name} has finished nothing for ${Math.round(stalledMs / 1000)} s`];
  return problems.map((problem) => `${name}: ${problem}`);
}
