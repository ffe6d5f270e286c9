// Runs stages in this process until a signal: opens the servers, starts the stages, the server of
// health and metrics, and reloads arms and tenants on SIGHUP.
import { once } from "node:events";
import { armsOf } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { openSession } from "../pipelines/session.ts";
import { stagesOf, startStages, tablesFor, type StageName } from "../pipelines/up.ts";
import { createLog } from "../runtime/log.ts";
import { startHealthServer } from "../runtime/metrics/health.ts";
import { hashOfFile, recordRunning } from "../stack/running.ts";
import type { Io } from "./io.ts";
import { listenForHangups, type Hangups } from "./hangups.ts";
import { endByBugs } from "./keep-running.ts";
import { reload } from "./reload.ts";
import { describeStart } from "./start-report.ts";

interface RunOptions {
  config: Config;
  /** The configuration file, absolute; null: the defaults. */
  file: string | null;
  /** Absent: all. */
  named: readonly StageName[] | undefined;
  signal: AbortSignal;
  reread: () => Config;
  /** Steps and addresses for a person; absent: the log says all. */
  say?: (step: string) => void;
  out?: Io["out"];
}

/** Rejects when something can't be started, and stops what it has started. */
export async function runStages(options: RunOptions): Promise<void> {
  const { config, file, named, say } = options;
  const stages = named ?? stagesOf(config);
  const record = (more: { ready: boolean; baseUrl?: string | undefined }): (() => void) =>
    recordRunning(config.stack.folder, { file, hash: hashOfFile(file), stages: [...stages], ...more });
  const hangups = listenForHangups();
  const forget = record({ ready: false });
  try {
    say?.(`configuration: ${file ?? "the defaults"}; arms: ${armsOf(config).join(", ")}`);
    await run(options, stages, { record, hangups });
  } finally {
    forget();
    hangups.close();
  }
}

async function run(
  { config, file, named, signal, say, out, reread }: RunOptions,
  stages: readonly StageName[],
  { record, hangups }: { record: (more: { ready: boolean; baseUrl?: string | undefined }) => void; hangups: Hangups },
): Promise<void> {
  let started = false;
  // At a terminal the start report replaces these lines.
  const muted = (): boolean => say !== undefined && !started && config.log.level === "info";
  const log = createLog({ level: config.log.level, muted });
  endByBugs(log, stages);
  const tellWait = (): void => {
    if (!started) say?.("stopping once the start is done; Ctrl-C again stops at once");
  };
  signal.addEventListener("abort", tellWait, { once: true });
  const session = await openSession(config, { log, say, tables: tablesFor(stages) });
  try {
    const onStarted = (stage: StageName): void => say?.(`${stage}: ready`);
    const running = await startStages(session, { ...(named === undefined ? {} : { stages: named }), onStarted });
    const { baseUrl } = running;
    const health = await startHealthServer({
      ...config.http,
      registry: session.metrics,
      stages: running.reports,
      stuck: session.kafka.stuck,
      stalledAfterMs: config.health.stalledAfterMs,
      onError: (error) => log.error({ err: error }, "the server of health and metrics failed outside of a request"),
    });
    const [metricsUrl, healthUrl] = [`${health.url}/metrics`, `${health.url}/healthz`];
    out?.(describeStart({ file, connections: session.connections, baseUrl, metricsUrl }));
    log.info({ stages, metrics: metricsUrl, health: healthUrl, baseUrl }, "running");
    record({ ready: (started = true), baseUrl });
    hangups.begin(async () => {
      if (await reload({ running, config, reread, log })) record({ ready: true, baseUrl });
    });
    if (!signal.aborted) await once(signal, "abort");
    hangups.end();
    log.info("stopping");
    say?.("stopping: requests under way are finished or handed on first");
    await running.stop();
    await health.close();
  } finally {
    await session.close();
  }
  const { stack } = session.connections;
  say?.(`stopped${stack === undefined ? "" : "; the servers stay until: npx precedent stack stop"}`);
}
