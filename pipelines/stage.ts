// Puts a pipeline on the runtime: group, ids and topics follow from its name and the instance.
import { tenantWeight, topicOwners } from "../config/tenants.ts";
import type { Kafka, RawRecord, TopicPartition } from "../connections/kafka/port.ts";
import type { BoundPipeline } from "../runtime/pipeline.ts";
import { createProcessor } from "../runtime/processor.ts";
import { createStageMetrics } from "../runtime/metrics/stage.ts";
import type { SlotLimits } from "../runtime/slots.ts";
import { createStage, type Stage } from "../runtime/stage.ts";
import { isTenantTopic, ownersOf, type TopicName } from "../schemas/records.ts";
import type { SessionOf } from "../state/session.ts";
import { groupName, stageName } from "../runtime/running-stage.ts";
import { createStageTracing } from "../runtime/tracing/stage.ts";

export interface StageAssembly<N extends TopicName> {
  pipeline: BoundPipeline<N>;
  instance: string;
  /** With stage generate: the arm whose work it does. */
  arm?: string;
  /** In place of the configured ones. */
  limits?: Partial<SlotLimits & { drainMs: number }>;
  /** Longest time that a record is under way; absent: the longest deadline of a request. */
  slowestMs?: number;
  onAdopt?: (partitions: readonly TopicPartition[]) => Promise<void>;
  onDropped?: (partition: TopicPartition) => void;
}

/** With the least that a declaration may say, so with any. */
type Assembling = SessionOf<object>;

/** Full names: some have a topic an arm or a tenant. */
const topicsOf = ({ arms, tenants, topic }: Assembling, name: TopicName): string[] =>
  ownersOf(
    name,
    topicOwners(
      { tenants: tenants.configured() },
      arms.configured().map((arm) => arm.name),
    ),
  ).map((owner) => topic(name, owner));

/** Starts a pipeline that needs nothing else. */
export async function startStage<N extends TopicName>(session: Assembling, assembly: StageAssembly<N>): Promise<Stage> {
  const stage = assembleStage(session, assembly);
  await stage.start();
  return stage;
}

export function assembleStage<N extends TopicName>(session: Assembling, assembly: StageAssembly<N>): Stage {
  const { pipeline, instance, arm, limits, onAdopt, onDropped, slowestMs } = assembly;
  const { config, codec } = session;
  // The operators' types hold the pipeline to its declaration already.
  const kafka = session.kafka as Kafka;
  const { description } = pipeline;
  const [source] = description.sources;
  const name = stageName(description.name, arm);
  const group = groupName(config.kafka.prefix, description.name, arm);
  const log = session.log.child({ stage: name });
  const metrics = createStageMetrics(session.metrics, name);
  const tracing = session.tracing && createStageTracing(session.tracing, { stage: name, group });
  const { logReplay } = session;
  const processor = createProcessor({
    ...{ pipeline, codec, topicOf: session.topic, metrics, tracing, log },
    now: logReplay?.clock ?? Date.now,
    inItsTime: logReplay?.inItsTime,
  });
  return createStage({
    name,
    group,
    topics: arm === undefined ? topicsOf(session, source) : [session.topic(source, arm)],
    transactionalId: `${group}.${instance}`,
    outputs: () => description.outputs.flatMap((output) => topicsOf(session, output)),
    instance,
    sessionTimeoutMs: config.kafka.sessionTimeoutMs,
    limits: { ...config.limits, ...limits },
    // In a tenant's own topic a record is the tenant's, whatever it says: partitions take turns.
    ...(isTenantTopic(source)
      ? {}
      : { flowOf: ({ value }: RawRecord) => (value === null ? "" : codec.tenantOf(source, value)) }),
    weightOf: tenantWeight(config.limits),
    // A request may say how long it may take, up to maxDeadlineMs.
    health: { stalledAfterMs: config.health.stalledAfterMs, slowestMs: slowestMs ?? config.limits.maxDeadlineMs },
    kafka,
    metrics,
    tracing,
    log,
    ...processor,
    ...(onAdopt === undefined ? {} : { onAdopt }),
    ...(onDropped === undefined ? {} : { onDropped }),
  });
}
