// One policy's part of a log replay: the real stages, in topics, database and folder of its own.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { defaultSaturationWeight, saturationGamma } from "../../algorithms/routing/load-bias.ts";
import type { Config } from "../../config/schema.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { topicName } from "../../connections/kafka/topics.ts";
import { writeAtomically } from "../../connections/process/lock.ts";
import { createErasedAmong } from "../../operators/erased.ts";
import { computing } from "../../arms/routed.ts";
import { createArms, modelOf } from "../../state/arms.ts";
import { createFeed, type Feed } from "./feed.ts";
import { databaseOf, folderOf, prefixOf } from "./names.ts";
import { putDocuments, putFormerExamples, type History } from "./history.ts";
import { putExamples, putPolicies } from "./prepare.ts";
import { stateFile, type LogReplayState } from "./state.ts";
import { readPage, type LogSpan } from "./store.ts";
import { createWorld } from "../../state/log-replay-world.ts";
import type { ResolvedConnections } from "../../stack/resolve.ts";
import { openSession } from "../../pipelines/session.ts";
import { startStages } from "../../pipelines/up.ts";

export interface LogReplayOptions {
  config: Config;
  log: Logger;
  signal: AbortSignal;
  onRead(rows: number): void;
  onReplayed(policy: string, answered: number, of: number): void;
}

export const save = (config: Config, state: LogReplayState): Promise<void> =>
  writeAtomically(stateFile(folderOf(config, state.id)), JSON.stringify(state));

export interface Outside {
  state: LogReplayState;
  shift: number;
  window: LogSpan;
  live: ClickHouse;
  log: ClickHouse;
  connections: ResolvedConnections;
  options: LogReplayOptions;
}

/** Goes on where a former run was killed; does nothing where it was done. */
export async function runLane(
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
    logReplay: createWorld({
      find: (tenant, request) => feed?.find(tenant, request),
      ...{ seed: BigInt(state.seed), beginning: window.from + shift, speed, modelOf },
      liveArms: new Set(state.liveArms),
      saturation: () => ({
        ...{ threshold: routing.saturation.threshold, gamma: saturationGamma },
        weight:
          routing.saturation.weight ??
          defaultSaturationWeight(
            computing(arms.routed()).map(({ cost }) => cost),
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
      const asked = await log.query<{ domain: string }>("SELECT DISTINCT domain FROM log_requests");
      const domains = asked.map(({ domain }) => domain);
      const { kafka } = session;
      const history = (name: "examples" | "documents"): History => ({
        ...{ kafka, topic: topicName(config.kafka.prefix, name), at: state.beginning },
        erasedAmong: createErasedAmong({ clickhouse: live, clock: Date.now }),
      });
      const taken = await putExamples(session, { live, at: state.beginning, shift }, domains);
      const former = await putFormerExamples(session, history("examples"), { live, domains, shift });
      state.examples = { taken, ...former };
      const named = await log.query<{ tenant: string; id: string }>(
        // A chunk of a document is named with its number.
        `WITH JSONExtract(request, 'documents', 'Array(String)') AS ids
         SELECT DISTINCT tenant, arrayJoin(arrayConcat(ids, arrayMap(id -> replaceRegexpOne(id, '#[0-9]+$', ''), ids))) AS id
         FROM log_requests`,
      );
      await putDocuments(session, history("documents"), named);
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

/** Configuration of one policy's log replay: its own names everywhere, no expiry by age. */
function laneConfig(
  config: Config,
  { kafka, registry, clickhouse }: ResolvedConnections,
  id: string,
  lane: number,
): Config {
  return {
    ...config,
    // What tenants put into topics of their own lies in the log as intake took it over.
    tenants: {},
    kafka: {
      ...config.kafka,
      ...kafka,
      // One partition: what it holds is a beginning of the log.
      ...{ prefix: `${prefixOf(config, id)}${lane + 1}.`, partitions: 1 },
    },
    registry: { ...config.registry, ...registry },
    clickhouse: { ...config.clickhouse, ...clickhouse, database: databaseOf(config, id, lane), ttlDays: 0 },
    stack: { folder: join(folderOf(config, id), String(lane + 1)) },
    instance: undefined,
    // What it holds depends on which answer came first.
    cache: { ...config.cache, enabled: false },
    selection: { ...config.selection, index: "memory" },
    // A vector does not depend on what was computed beside it.
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
