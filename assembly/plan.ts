// What plan needs: the embedder, the example pool and the policies as global tables, the ids seen, the load of the dearer arms.
// Its first request is taken only when both tables are restored.
import { splitmix64 } from "../algorithms/random.ts";
import { randomBytes } from "node:crypto";
import { embeddingModelFolder } from "../config/assets.ts";
import { createOnnxEmbedder } from "../connections/embedder/onnx.ts";
import { createMemoryPool } from "../connections/pool/memory.ts";
import type { ExamplePool } from "../connections/pool/port.ts";
import { createVectorIndexes } from "../connections/vectors/create.ts";
import { createFirstResponses } from "../operators/recall/first-responses.ts";
import { restoreSeen } from "../operators/recall/restore.ts";
import { createSeenIds } from "../operators/recall/seen.ts";
import { createPolicyTable } from "../operators/route/policy-table.ts";
import { plan } from "../pipelines/plan.ts";
import { createLoadMonitor, type MonitoredArm } from "../runtime/load.ts";
import { followTable, type TableChange } from "../runtime/table.ts";
import type { Example } from "../schemas/types.ts";
import type { Session } from "./session.ts";
import { assembleStage, groupName, type RunningStage } from "./stage.ts";

export async function startPlan(session: Session, instance: string): Promise<RunningStage> {
  const { config, kafka, codec, clickhouse } = session;
  const log = session.log.child({ stage: "plan" });
  const clock = Date.now;
  const folder = config.embedder.model ?? embeddingModelFolder();
  const embedder = await createOnnxEmbedder({ ...config.embedder, folder, log });
  const pool = await createMemoryPool({
    embedder,
    openIndexes: () => createVectorIndexes(embedder.dimension, log),
    log,
  });
  const policies = createPolicyTable();
  const seen = createSeenIds();

  const tables = [
    followTable({
      kafka,
      codec,
      log,
      topic: session.topic("examples"),
      record: "examples",
      apply: (changes) => applyExamples(pool, changes, log),
    }),
    followTable({
      kafka,
      codec,
      log,
      topic: session.topic("policies"),
      record: "policies",
      apply: (changes) => {
        for (const { key, value } of changes) {
          if (value === null) policies.remove(key);
          else policies.apply(value);
        }
      },
    }),
  ];
  await Promise.all(tables.map(({ caughtUp }) => caughtUp));
  log.info(
    { examples: pool.size(), embedder: embedder.model, policy: policies.current().policy.version },
    "tables restored",
  );

  const load = createLoadMonitor(kafka, () => dearerArms(session), clock, log);

  const pipeline = plan.bind({
    limits: config.limits,
    partitions: config.kafka.partitions,
    arms: session.arms.routed,
    clock,
    seen,
    firstResponses: createFirstResponses(clickhouse),
    embedder,
    pool,
    selection: config.selection,
    policy: policies.current,
    load: load.load,
    random: splitmix64(randomBytes(8).readBigUInt64LE()),
    routing: config.routing,
  });
  const requests = session.topic("requests");
  const stage = assembleStage(session, {
    pipeline,
    instance,
    async onAdopt(partitions) {
      try {
        seen.restore(
          await restoreSeen(
            clickhouse,
            requests,
            partitions.map(({ partition }) => partition),
            clock(),
          ),
        );
      } catch (error) {
        // Answering matters more: without it a repeat that crosses this rebalance is answered anew.
        log.warn({ err: error }, "the ids of the last day could not be restored");
      }
    },
    onDropped: ({ partition }) => {
      seen.drop(partition);
    },
  });
  await stage.start();
  return {
    name: stage.name,
    health: stage.health,
    async stop() {
      await stage.stop();
      load.stop();
      await Promise.all(tables.map((table) => table.stop()));
      await Promise.all([pool.close(), embedder.close()]);
    },
  };
}

async function applyExamples(
  pool: ExamplePool,
  changes: readonly TableChange<Example>[],
  log: Session["log"],
): Promise<void> {
  // A key may come several times in a batch: the last change counts.
  const latest = new Map(changes.map((change) => [change.key, change.value]));
  const gone = [...latest].flatMap(([key, value]) => (value === null ? [key.slice(key.lastIndexOf("/") + 1)] : []));
  const present = [...latest.values()].filter((value) => value !== null);
  await pool.remove(gone);
  for (const { id, reason } of await pool.upsert(present))
    log.warn({ example: id, reason }, "an example is left out of the pool");
}

/** The arms whose load counts (spec 20): all that are dearer than the cheapest. */
function dearerArms({ arms, config, topic }: Session): MonitoredArm[] {
  const routed = arms.routed();
  const cheapest = Math.min(...routed.map(({ cost }) => cost));
  return arms.configured().flatMap(({ name, concurrency }): MonitoredArm[] => {
    const cost = routed.find((arm) => arm.name === name)?.cost ?? cheapest;
    if (cost <= cheapest) return [];
    return [
      { topic: topic("work", name), group: groupName(config.kafka.prefix, "generate", name), capacity: concurrency },
    ];
  });
}
