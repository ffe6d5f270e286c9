// A replay of a log: reads the log into a database of its own, and then runs the real stages over
// it, for each policy in topics and a database of its own. What is live is read, never written.
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { defaultSaturationWeight } from "../algorithms/load-bias.ts";
import type { Config } from "../config/schema.ts";
import { createClickHouse } from "../connections/clickhouse/client.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { removeReplay } from "../connections/kafka/remove.ts";
import { topicName } from "../connections/kafka/topics.ts";
import { withMutex, writeAtomically } from "../connections/process/lock.ts";
import { ROUTER } from "../policies/router.ts";
import { createArms, modelOf } from "../serving/arms.ts";
import { createFeed, type Feed } from "../serving/log-replay/feed.ts";
import { policiesAt, putDocuments, putExamples, putPolicies } from "../serving/log-replay/prepare.ts";
import { policyReport, type PolicyReport } from "../serving/log-replay/report.ts";
import type { LogRow } from "../serving/log-replay/row.ts";
import { readState, stateFile, type ReplayLane, type ReplayState } from "../serving/log-replay/state.ts";
import { readPage, spanOf, storeLog, type LogSpan } from "../serving/log-replay/store.ts";
import { createWorld } from "../serving/log-replay/world.ts";
import { resolveConnections, type ResolvedConnections } from "../stack/resolve.ts";
import { openSession } from "./session.ts";
import { startStages } from "./up.ts";

export interface LogReplayOptions {
  config: Config;
  log: Logger;
  signal: AbortSignal;
  onRead(rows: number): void;
  onReplayed(policy: string, answered: number, of: number): void;
}

/** What is to be replayed, before anything is read. */
export interface LogReplayPlan {
  source: string;
  /** As of when examples and policies are taken, milliseconds since the epoch. */
  beginning: number;
  /** Router policies to compare; none: the one that was in force at the beginning. */
  policies: readonly Pick<ReplayLane, "policy" | "router">[];
  /** null: as fast as possible. */
  speed: number | null;
  seed: bigint;
  liveArms: readonly string[];
}

export interface LogReplayReport {
  id: string;
  source: string;
  window: LogSpan;
  shiftMs: number;
  policies: (PolicyReport & { policy: string; seconds: number; requestsPerS: number; database: string })[];
}

/** Where the replays of a configuration are kept. */
const replaysFolder = (config: Config): string => join(config.stack.folder, "replays");
const folderOf = (config: Config, id: string): string => join(replaysFolder(config), id);
const databaseOf = (config: Config, id: string, lane?: number): string =>
  `${config.clickhouse.database}_replay_${id}${lane === undefined ? "" : `_${lane + 1}`}`;
const prefixOf = (config: Config, id: string): string => `${config.kafka.prefix}replay-${id}.`;

const save = (config: Config, state: ReplayState): Promise<void> =>
  writeAtomically(stateFile(folderOf(config, state.id)), JSON.stringify(state));

export async function listReplays(config: Config): Promise<ReplayState[]> {
  const ids = await readdir(replaysFolder(config)).catch(() => []);
  const states = await Promise.all(ids.map((id) => readState(folderOf(config, id))));
  return states.flatMap((state) => state ?? []).sort((a, b) => a.startedAt - b.startedAt);
}

/** A new replay, of which only its folder is there; goOn() does the rest. */
export async function beginReplay(id: string, plan: LogReplayPlan, { config }: LogReplayOptions): Promise<void> {
  if (config.clickhouse.cluster !== undefined)
    throw new Error(
      "a log can't be replayed on a cluster (clickhouse.cluster): its tables would lie on one node; name a single server",
    );
  const connections = await resolveConnections(config, { start: false });
  const live = createClickHouse(connections.clickhouse);
  try {
    const found = await policiesAt({ live, at: plan.beginning });
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

/** rows: of the log, read where a former run did not get so far. */
export async function goOn(
  id: string,
  rows: (live: ClickHouse) => AsyncIterable<readonly LogRow[]>,
  options: LogReplayOptions,
): Promise<LogReplayReport> {
  const folder = folderOf(options.config, id);
  // Two of them would fence each other for ever.
  return withMutex(folder, "replay", () => replay(id, rows, options), 15_000);
}

async function replay(
  id: string,
  rows: (live: ClickHouse) => AsyncIterable<readonly LogRow[]>,
  options: LogReplayOptions,
): Promise<LogReplayReport> {
  const { config, signal } = options;
  const state = await readState(folderOf(config, id));
  if (state === undefined) throw new Error(`there is no replay ${id}: precedent replay list`);
  const connections = await resolveConnections(config, { start: false });
  const live = createClickHouse(connections.clickhouse);
  const database = databaseOf(config, id);
  await live.command(`CREATE DATABASE IF NOT EXISTS ${database}`);
  const log = createClickHouse({ ...connections.clickhouse, database });
  try {
    if (state.shift === null) await storeLog(log, rows(live), { signal, onProgress: options.onRead });
    const window = await spanOf(log);
    // The log ends when the replay began: nothing of it lies in the future, the latest is fresh.
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
      const report = await policyReport({ clickhouse: log, lane, log: database });
      policies.push({ policy, ...report, seconds, requestsPerS: requests / seconds, database: lane });
    }
    return { id, source: state.source, window, shiftMs: shift, policies };
  } finally {
    await Promise.all([live.close(), log.close()]);
  }
}

interface Outside {
  state: ReplayState;
  shift: number;
  window: LogSpan;
  live: ClickHouse;
  log: ClickHouse;
  connections: ResolvedConnections;
  options: LogReplayOptions;
}

async function runLane(
  index: number,
  { state, shift, window, live, log, connections, options }: Outside,
): Promise<void> {
  const { config, signal } = options;
  const lane = state.lanes[index]!;
  if (lane.done) return;
  const own = laneConfig(config, connections, state.id, index);
  const arms = createArms(own.arms);
  const { routing } = own;
  let feed: Feed | undefined;
  const speed = state.speed ?? Infinity;
  const session = await openSession(own, {
    log: options.log,
    subjects: config.kafka.prefix,
    replay: createWorld({
      find: (tenant, request) => feed?.find(tenant, request),
      ...{ seed: BigInt(state.seed), beginning: window.from + shift, speed, modelOf },
      liveArms: new Set(state.liveArms),
      saturation: () => ({
        ...routing.saturation,
        weight:
          routing.saturation.weight ??
          defaultSaturationWeight(
            arms.routed().map(({ cost }) => cost),
            routing.costWeight,
          ),
      }),
    }),
  });
  try {
    feed = createFeed({
      ...{ session, total: window.requests, speed, signal, stalledAfterMs: config.health.stalledAfterMs },
      readPage: (from, to) => readPage(log, { from, to, shift }),
      inFlight: config.limits.inFlight,
      onProgress: (answered) => options.onReplayed(lane.policy, answered, window.requests),
    });
    if (!lane.prepared) {
      const domains = await log.query<{ domain: string }>("SELECT DISTINCT domain FROM log_requests");
      await putExamples(
        session,
        { live, at: state.beginning, shift },
        domains.map(({ domain }) => domain),
      );
      const [named] = await log.query(
        `SELECT 1 FROM log_requests WHERE position(request, '"documents":[]') = 0 LIMIT 1`,
      );
      if (named !== undefined)
        await putDocuments(session, { kafka: session.kafka, topic: topicName(config.kafka.prefix, "documents") });
      await putPolicies(session, [...state.others, ...(lane.router === null ? [] : [lane.router])]);
      lane.prepared = true;
      await save(config, state);
    }
    await feed.prepare();
    const stages = await startStages(session, { stages: ["plan", "generate", "record"] });
    const began = performance.now();
    try {
      lane.requests = await feed.run();
      lane.ms = performance.now() - began;
      await untilRecorded(session.clickhouse, window.requests, signal);
    } finally {
      await stages.stop();
    }
    lane.done = true;
    await save(config, state);
  } finally {
    await feed?.stop();
    await session.close();
  }
}

/** Of one policy's replay: its own names everywhere, nothing that leaves by age. */
function laneConfig(
  config: Config,
  { kafka, registry, clickhouse }: ResolvedConnections,
  id: string,
  lane: number,
): Config {
  return {
    ...config,
    kafka: {
      ...config.kafka,
      ...{ brokers: kafka.brokers, ssl: kafka.ssl, sasl: kafka.sasl },
      // One partition: what it holds is a beginning of the log.
      ...{ prefix: `${prefixOf(config, id)}${lane + 1}.`, partitions: 1 },
    },
    registry: { ...config.registry, ...registry },
    clickhouse: { ...config.clickhouse, ...clickhouse, database: databaseOf(config, id, lane), ttlDays: 0 },
    stack: { folder: join(folderOf(config, id), String(lane + 1)) },
    instance: undefined,
    // What it holds depends on which answer came first.
    cache: { ...config.cache, enabled: false },
    // All examples are here, and a vector does not depend on what was computed beside it.
    selection: { ...config.selection, pool: "global" },
    embedder: { ...config.embedder, maxBatch: 1 },
  };
}

/** record is behind the stages by about a second. */
async function untilRecorded(clickhouse: ClickHouse, requests: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const [row] = await clickhouse.query<{ requests: number; responses: number; owed: number; decisions: number }>(`
      SELECT (SELECT count() FROM requests FINAL) AS requests, (SELECT count() FROM responses FINAL WHERE NOT duplicate) AS responses,
        (SELECT countIf(arm IS NOT NULL) FROM responses FINAL WHERE NOT duplicate) AS owed, (SELECT count() FROM decisions FINAL) AS decisions`);
    if (row !== undefined && Math.min(row.requests, row.responses) >= requests && row.decisions >= row.owed) return;
    await sleep(200, undefined, { signal });
  }
}

/** Removes what a replay made: topics, groups, databases, folder. */
export async function removeLogReplay(
  id: string,
  { config, log }: Pick<LogReplayOptions, "config" | "log">,
): Promise<void> {
  const folder = folderOf(config, id);
  const state = await readState(folder);
  if (state === undefined) throw new Error(`there is no replay ${id}: precedent replay list`);
  const connections = await resolveConnections(config, { start: false });
  await removeReplay(
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
