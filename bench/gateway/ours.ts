// Our gateway as its users run it: `precedent up` with all stages in a process of its own on the
// embedded stack, one inline openai arm. Its servers' CPU is counted as its own, and recording is
// waited for: it belongs to the system.
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import getPort from "get-port";
import { openSession } from "../../pipelines/session.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import type { BenchContext } from "../benchmark.ts";
import { startChild, type Child } from "../loop/child.ts";
import { serverPids } from "../support/stack.ts";
import { cpuSeconds } from "../support/processes.ts";
import type { Target } from "./client.ts";
import { modelName } from "./model.ts";

export interface Ours {
  child: Child;
  target: Target;
  /** CPU seconds so far of the stack's servers, by name. */
  servers(): Record<string, number>;
  /** Resolves when so many requests have their response in ClickHouse. */
  recorded(requests: number): Promise<void>;
  /** Rows and distinct ids of requests, decisions and responses in ClickHouse. */
  records(): Promise<Record<string, { rows: number; ids: number }>>;
  stop(): Promise<void>;
}

/** upstream: base URL of the model. */
export async function startOurs(
  { folder, profile, signal }: BenchContext,
  { stackFolder, upstream }: { stackFolder: string; upstream: string },
): Promise<Ours> {
  const prefix = `gateway_${randomBytes(4).toString("hex")}`;
  const port = await getPort();
  const raw = {
    stack: { folder: stackFolder },
    kafka: { prefix: `${prefix}.` },
    clickhouse: { database: prefix },
    gateway: { port },
    // Every request asks the same, and is to reach the model.
    cache: { enabled: false },
    log: { level: "info" },
    // As many calls as the benchmark has requests in flight, and more: the model has no limit here.
    arms: [{ name: "mock", type: "openai", baseUrl: upstream, model: modelName, dispatch: "inline", concurrency: 256 }],
  };
  const file = join(folder, "ours.yaml");
  await writeFile(file, JSON.stringify(raw)); // JSON is YAML
  const session = await openSession(configSchema.parse(raw), { log: createLog({ level: "warn" }), clientId: "bench" });
  const { clickhouse } = session;
  const child = await startChild({
    arguments: [fileURLToPath(new URL("../../tools/bin/precedent", import.meta.url)), "up", "--config", file],
    answersAt: `http://127.0.0.1:${port}/healthz`,
    log: join(folder, "ours.log"),
    profile: profile ? join(folder, "profiles") : undefined,
    signal,
  }).catch(async (error: unknown) => {
    await session.close();
    throw error;
  });
  const pids = await serverPids(stackFolder);
  const records: Ours["records"] = async () => {
    const counts: Awaited<ReturnType<Ours["records"]>> = {};
    for (const table of ["requests", "decisions", "responses"]) {
      const [row] = await clickhouse.query<{ rows: number | string; ids: number | string }>(
        `SELECT count() AS rows, uniqExact(request_id) AS ids FROM ${table}`,
      );
      counts[table] = { rows: Number(row?.rows), ids: Number(row?.ids) };
    }
    return counts;
  };
  return {
    child,
    target: { baseUrl: `http://127.0.0.1:${port}/v1`, model: "auto" },
    servers: () => Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)])),
    records,
    async recorded(requests) {
      const end = performance.now() + 60_000;
      for (;;) {
        const counts = Object.values(await records());
        if (counts.every(({ ids }) => ids >= requests)) return;
        signal.throwIfAborted();
        if (performance.now() > end)
          throw new Error(`of ${requests} requests ClickHouse has ${JSON.stringify(counts)}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
    async stop() {
      await child.stop();
      await session.close();
    },
  };
}
