// A log replay: reads the log into a database of its own, and then runs the real stages over
// it, for each policy in topics and a database of its own. What is live is read, never written.
import { mkdir, readdir, rm } from "node:fs/promises";
import type { Config } from "../../config/schema.ts";
import { createClickHouse } from "../../connections/clickhouse/client.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { removeLogReplayTopics } from "../../connections/kafka/remove.ts";
import { withMutex } from "../../connections/process/lock.ts";
import { ROUTER } from "../../state/policies/router.ts";
import { databaseOf, folderOf, prefixOf, logReplaysFolder } from "./names.ts";
import { policiesAt } from "./prepare.ts";
import { policyReport, type PolicyReport } from "./report.ts";
import type { LogRow } from "../../state/log-replay-row.ts";
import { readState, type ExamplesThen, type LogReplayLane, type LogReplayState } from "./state.ts";
import { spanOf, storeLog, type LogSpan } from "./store.ts";
import { resolveConnections } from "../../stack/resolve.ts";
import { runLane, save, type LogReplayOptions } from "./lane.ts";

export interface LogReplayPlan {
  source: string;
  /** As of when examples and policies are taken, milliseconds since the epoch. */
  beginning: number;
  /** Router policies to compare; none: the one that was in force at the beginning. */
  policies: readonly Pick<LogReplayLane, "policy" | "router">[];
  speed: number | null;
  seed: bigint;
  liveArms: readonly string[];
}

export interface LogReplayReport {
  id: string;
  source: string;
  window: LogSpan;
  shiftMs: number;
  /** What there is of the examples of the window's beginning; null: a run of an older version. */
  examples: ExamplesThen | null;
  policies: (PolicyReport & { policy: string; seconds: number; requestsPerS: number; database: string })[];
}

export async function listLogReplays(config: Config): Promise<LogReplayState[]> {
  const ids = await readdir(logReplaysFolder(config)).catch(() => []);
  const states = await Promise.all(ids.map((id) => readState(folderOf(config, id))));
  return states.flatMap((state) => state ?? []).sort((a, b) => a.startedAt - b.startedAt);
}

/** A new log replay, of which only its folder is there; goOn() does the rest. */
export async function beginLogReplay(id: string, plan: LogReplayPlan, { config }: LogReplayOptions): Promise<void> {
  if (config.clickhouse.cluster !== undefined)
    throw new Error(
      "a log can't be replayed on a cluster (clickhouse.cluster): its tables would lie on one node; name a single server",
    );
  const connections = await resolveConnections(config, { start: false });
  const live = createClickHouse(connections.clickhouse);
  try {
    const found = await policiesAt({ live, at: plan.beginning }, config.experiments);
    const router = found.find(({ name }) => name === ROUTER) ?? null;
    const standing = { policy: `${ROUTER}@${router?.version ?? 0}`, router };
    await mkdir(folderOf(config, id), { recursive: true });
    await save(config, {
      ...{ id, source: plan.source, startedAt: Date.now(), beginning: plan.beginning, shift: null },
      ...{ speed: plan.speed, seed: String(plan.seed), liveArms: plan.liveArms },
      others: found.filter(({ name }) => name !== ROUTER),
      lanes: (plan.policies.length === 0 ? [standing] : plan.policies).map(({ policy, router: named }) => ({
        ...{ policy, router: named, prepared: false, done: false, requests: 0, ms: 0 },
      })),
    });
  } finally {
    await live.close();
  }
}

export async function goOn(
  id: string,
  rows: (live: ClickHouse) => AsyncIterable<readonly LogRow[]>,
  options: LogReplayOptions,
): Promise<LogReplayReport> {
  const folder = folderOf(options.config, id);
  // Two of them would fence each other for ever.
  return withMutex(folder, "log-replay", () => runLogReplay(id, rows, options), 15_000);
}

async function runLogReplay(
  id: string,
  rows: (live: ClickHouse) => AsyncIterable<readonly LogRow[]>,
  options: LogReplayOptions,
): Promise<LogReplayReport> {
  const { config, signal } = options;
  const state = await readState(folderOf(config, id));
  if (state === undefined) throw new Error(`there is no log replay ${id}: precedent log-replay list`);
  const connections = await resolveConnections(config, { start: false });
  const live = createClickHouse(connections.clickhouse);
  const database = databaseOf(config, id);
  await live.command(`CREATE DATABASE IF NOT EXISTS ${database}`);
  const log = createClickHouse({ ...connections.clickhouse, database });
  try {
    if (state.shift === null) await storeLog(log, rows(live), { signal, onProgress: options.onRead });
    const window = await spanOf(log);
    // The log ends when the log replay began: nothing of it lies in the future, the latest is
    // fresh.
    state.shift ??= state.startedAt - window.to;
    await save(config, state);
    const { shift } = state;
    const outside = { state, shift, window, live, log, connections, options };
    // At a speed of its own the log takes its time: all policies live through it together.
    if (state.speed === null) for (const lane of state.lanes.keys()) await runLane(lane, outside);
    else await Promise.all([...state.lanes.keys()].map((lane) => runLane(lane, outside)));
    const policies: LogReplayReport["policies"] = [];
    for (const [i, { policy, requests, ms }] of state.lanes.entries()) {
      const lane = databaseOf(config, id, i);
      const seconds = ms / 1000;
      const report = await policyReport({ clickhouse: log, live, lane, log: database });
      policies.push({ policy, ...report, seconds, requestsPerS: requests / seconds, database: lane });
    }
    return { id, source: state.source, window, shiftMs: shift, examples: state.examples ?? null, policies };
  } finally {
    await Promise.all([live.close(), log.close()]);
  }
}

export async function removeLogReplay(
  id: string,
  { config, log }: Pick<LogReplayOptions, "config" | "log">,
): Promise<void> {
  const folder = folderOf(config, id);
  const state = await readState(folder);
  if (state === undefined) throw new Error(`there is no log replay ${id}: precedent log-replay list`);
  const connections = await resolveConnections(config, { start: false });
  await removeLogReplayTopics(
    { ...connections.kafka, clientId: "precedent", config: connections.kafka, log },
    prefixOf(config, id),
  );
  const clickhouse = createClickHouse(connections.clickhouse);
  try {
    for (const lane of [undefined, ...state.lanes.keys()])
      await clickhouse.command(`DROP DATABASE IF EXISTS ${databaseOf(config, id, lane)}`);
  } finally {
    await clickhouse.close();
  }
  await rm(folder, { recursive: true, force: true });
}
