// /metrics and /healthz. Healthy: every stage has joined, adopted its partitions and gets on
// (progress.ts), and no table waits long behind an open transaction. No partitions is healthy.
import { Gauge, type Registry } from "prom-client";
import { createGuardedServer } from "../../connections/http/guard.ts";
import type { StuckPartition } from "../../connections/kafka/port.ts";
import { isLocalHost, isLoopback } from "../../connections/security/local-host.ts";
import { describeStall } from "../progress.ts";

export interface StageReport {
  joined: boolean;
  partitions: number;
  inFlight: number;
  /** Milliseconds without progress beyond what is legal; absent: none. */
  stalledMs?: number;
  /** What keeps it from working, since when, and what to do about it. */
  problems?: readonly string[];
}

export interface HealthOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  registry: Registry;
  stages: () => Readonly<Record<string, StageReport>>;
  /** Partitions of tables that wait behind an open transaction. */
  stuck?: () => readonly StuckPartition[];
  /** Milliseconds without progress that are unhealthy. */
  stalledAfterMs?: number;
  /** Called for what no client is to blame for. */
  onError?: (error: unknown) => void;
}

/** For those who scrape and probe: a few, and not the gateway's clients. */
const connections = { maxConnections: 256, requestMs: 10_000, idleMs: 75_000 };

export async function startHealthServer({
  host,
  port,
  registry,
  stages,
  stuck = () => [],
  stalledAfterMs = 300_000,
  onError = () => undefined,
}: HealthOptions) {
  createHealthMetrics(registry, stages, stalledAfterMs);
  // Takes long to load, and no other command needs it.
  const { fastify } = await import("fastify");
  const server = fastify({
    ...{ logger: false, forceCloseConnections: true, clientErrorHandler: () => undefined },
    serverFactory: (listener) =>
      createGuardedServer(listener, {
        ...{ ...connections, onError },
        bodyOf: ({ message }) => ({ type: "text/plain", text: `${message}\n` }),
      }),
  });
  server.addHook("onRequest", ({ headers, socket }, reply, done) => {
    // Another site's page in a browser on this machine reaches the loopback under that site's name.
    if (isLoopback(socket.localAddress) && !isLocalHost(headers.host))
      void reply.code(403).type("text/plain").send("Ask for this under the name localhost.\n");
    else done();
  });
  server.get("/metrics", async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  server.get("/healthz", async (_request, reply) => {
    const reports = Object.entries(stages());
    const problems = reports.flatMap(([name, report]) => problemOf(name, report, stalledAfterMs));
    problems.push(...stuckTables(stuck(), stalledAfterMs));
    if (reports.length === 0) problems.push("no stage runs yet");
    const body = {
      status: problems.length === 0 ? "ok" : "unavailable",
      problems,
      stages: Object.fromEntries(reports),
    };
    return reply.code(problems.length === 0 ? 200 : 503).send(body);
  });

  const url = await server.listen({ host, port });
  return { url, close: (): Promise<void> => server.close() };
}

function problemOf(name: string, { joined, stalledMs, problems = [] }: StageReport, limit: number): string[] {
  if (!joined) return [`${name} has not joined its consumer group`];
  if (problems.length > 0) return problems.map((problem) => `${name}: ${problem}`);
  if (stalledMs !== undefined && stalledMs > limit)
    return [`${name} has finished nothing for ${Math.round(stalledMs / 1000)} s`];
  return [];
}

function stuckTables(stuck: readonly StuckPartition[], limit: number): string[] {
  const now = Date.now();
  return stuck
    .filter(({ since }) => now - since > limit)
    .map(({ topic, partition, stable, high, since }) =>
      describeStall(
        [`table ${topic}/${partition}`],
        since,
        now,
        `a transaction that is open keeps ${high - stable} offsets from ${stable} on from readers: precedent doctor tells whose`,
      ),
    );
}

export function createHealthMetrics(registry: Registry, stages: HealthOptions["stages"], limit: number): void {
  const labelNames = ["stage"] as const;
  new Gauge({
    name: "precedent_healthy",
    help: "1 while the stage is healthy, as /healthz tells.",
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const [stage, report] of Object.entries(stages()))
        this.set({ stage }, problemOf(stage, report, limit).length === 0 ? 1 : 0);
    },
  });
  new Gauge({
    name: "precedent_stalled_seconds",
    help: "How long the stage has got nowhere though there was something to do; 0: it gets on.",
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const [stage, { stalledMs = 0 }] of Object.entries(stages())) this.set({ stage }, stalledMs / 1000);
    },
  });
}
