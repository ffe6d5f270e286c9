// The configuration, whole: composed of its sections, with what one of them may not say beside
// another. Unknown keys are refused.
import { z } from "zod";
import { refuseCredentials } from "./credentials.ts";
import { refuseJudges } from "./judges.ts";
import { priceProblem } from "./prices.ts";
import { answersBatches, armSchema } from "./sections/arms.ts";
import { batch } from "./sections/batch.ts";
import { cache } from "./sections/cache.ts";
import { bytes, factor, milliseconds, millisecondsUpTo, name } from "./sections/common.ts";
import { curate } from "./sections/curate.ts";
import { experiment, refuseExperiments } from "./sections/experiments.ts";
import { gateway } from "./sections/gateway.ts";
import { learn, routing } from "./sections/learning.ts";
import { privacy, refuseRedact } from "./sections/privacy.ts";
import { documents, embedder, selection } from "./sections/selection.ts";
import { clickhouse, kafka, registry } from "./sections/services.ts";
import { sharing } from "./sections/sharing.ts";
import { tenants } from "./sections/tenants.ts";
import { tracing } from "./sections/tracing.ts";
import { refuseTenants } from "./tenant-names.ts";

export { armSchema };
export type { ArmConfig, LlamaArmConfig, OpenAiArmConfig, RecordedArmConfig, ReuseArmConfig } from "./sections/arms.ts";

const limits = z.strictObject({
  /** Bytes of a request's messages and documents. */
  maxPromptBytes: z
    .number()
    .int()
    .min(1)
    .max(15 * 1_048_576)
    .default(1_048_576),
  /** Deadline where the request names none. */
  deadlineMs: milliseconds.default(120_000),
  /** Longest deadline; longer ones are shortened. */
  maxDeadlineMs: millisecondsUpTo(86_400_000).default(3_600_000),
  /** Records that a stage has under way at most. */
  inFlight: z.number().int().min(1).max(16_384).default(256),
  /** Their bytes; a single larger record passes. */
  inFlightBytes: bytes.default(64 * 1_048_576),
  /** Most waiting repeats, and most waiting requests of each inline arm. */
  parked: z.number().int().min(1).max(65_536).default(4_096),
  /** A tenant's share of the slots while others wait; 1 for those not named. */
  tenantWeights: z.record(z.string(), z.number().min(0.01).max(100)).default({}),
  /** Utilisation of the busiest arm above which batches, judge and example replays wait. */
  offPeakLoad: factor.default(0.5),
  /** Time for splitting a document or redacting it. */
  textMs: milliseconds.default(5_000),
  /** Time to finish what is under way when a process stops. */
  drainMs: milliseconds.default(10_000),
});

const health = z.strictObject({
  /** A stage without progress for this time is unhealthy. */
  stalledAfterMs: milliseconds.default(180_000),
});

/** Each key by itself. */
export const configShape = z.strictObject({
  kafka: kafka.prefault({}),
  registry: registry.prefault({}),
  clickhouse: clickhouse.prefault({}),
  stack: z
    .strictObject({
      /** Holds the embedded servers' data, examples and caches. */
      folder: z.string().min(1).default(".precedent"),
    })
    .prefault({}),
  /** Stable id of this process; absent: drawn once and kept. */
  instance: name.optional(),
  embedder: embedder.prefault({}),
  selection: selection.prefault({}),
  documents: documents.prefault({}),
  routing: routing.prefault({}),
  learn: learn.prefault({}),
  curate: curate.prefault({}),
  cache: cache.prefault({}),
  privacy: privacy.prefault({}),
  limits: limits.prefault({}),
  /**
   * Rows are inserted when there are batchRows of them, or one to four times batchMs after the
   * first.
   */
  record: z
    .strictObject({
      batchRows: z.number().int().min(1).max(1_000_000).default(20_000),
      batchMs: millisecondsUpTo(600_000).default(1_000),
    })
    .prefault({}),
  log: z
    .strictObject({ level: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info") })
    .prefault({}),
  health: health.prefault({}),
  http: z
    .strictObject({
      /** Address of /metrics and /healthz. */
      host: z.string().default("127.0.0.1"),
      /** Their port; 0: a free one, named in the log. */
      port: z.number().int().min(0).max(65_535).default(0),
    })
    .prefault({}),
  /** Domains whose examples tenants share, by name (docs/examples.md). */
  sharing: sharing.default({}),
  /** Tenants that write to Kafka themselves, by name (docs/security.md). */
  tenants: tenants.default({}),
  /** OpenTelemetry traces (docs/tracing.md). */
  tracing: tracing.prefault({}),
  gateway: gateway.prefault({}),
  batch: batch.prefault({}),
  arms: z.array(armSchema).min(1).max(64),
  /** Splits of traffic that compare arms (docs/experiments.md). */
  experiments: z.array(experiment).max(64).default([]),
});

export type Config = z.infer<typeof configShape>;
type Refuse = (path: (string | number)[], message: string) => void;

/** What keys may not say beside each other. */
export function refuseSenseless(config: Config, refuse: Refuse): void {
  const names = config.arms.map((arm) => arm.name);
  names.forEach((arm, index) => {
    if (names.indexOf(arm) !== index) refuse(["arms", index, "name"], `"${arm}" is the name of two arms`);
    if (arm === "auto")
      refuse(["arms", index, "name"], '"auto" leaves the choice to the router: name the arm otherwise');
    const unknown = priceProblem(config.arms[index]!);
    if (unknown !== null) refuse(["arms", index, "prices"], unknown);
  });
  refuseExperiments(config, refuse);
  if (config.clickhouse.cluster !== undefined && config.clickhouse.url === undefined)
    refuse(["clickhouse", "cluster"], "the embedded ClickHouse is no cluster; set clickhouse.url as well");
  refuseCredentials(config, refuse);
  const { index, milvus } = config.selection;
  if (index === "milvus" && milvus === undefined)
    refuse(["selection", "milvus"], "missing: selection.index milvus needs its address");
  if (index === "memory" && milvus !== undefined)
    refuse(["selection", "milvus"], "belongs to selection.index milvus: write the index, or leave this out");
  const { replicationFactor, minInsyncReplicas } = config.kafka;
  if (minInsyncReplicas !== undefined && replicationFactor !== undefined && minInsyncReplicas > replicationFactor)
    refuse(
      ["kafka", "minInsyncReplicas"],
      `${minInsyncReplicas} copies can't be in sync where kafka.replicationFactor makes ${replicationFactor}: nothing could be written`,
    );
  if (config.limits.maxDeadlineMs < config.limits.deadlineMs)
    refuse(["limits", "maxDeadlineMs"], `it is below limits.deadlineMs, ${config.limits.deadlineMs}`);
  for (const [index, arm] of config.arms.entries()) {
    if (arm.type !== "llama") continue;
    if (arm.device.toLowerCase() === "cpu" && arm.gpuLayers !== undefined)
      refuse(["arms", index, "gpuLayers"], "puts layers on a GPU: set device to auto, gpu or the name of one");
    if (arm.flashAttention === "off" && arm.kvType !== "f16")
      refuse(
        ["arms", index, "flashAttention"],
        `kvType ${arm.kvType} needs flash attention: write auto, or kvType f16`,
      );
  }
  const reusing = config.arms.flatMap((arm, index) => (arm.type === "reuse" ? [index] : []));
  if (reusing.length > 1) refuse(["arms", reusing[1]!], "there can be one arm of type reuse");
  if (reusing.length > 0 && reusing.length === config.arms.length)
    refuse(["arms"], "an arm of type reuse has only what others answered: name another arm beside it");
  const isBatch = (name: string | undefined): boolean =>
    config.arms.some((arm) => arm.name === name && answersBatches(arm));
  if (config.arms.every((arm) => arm.type === "reuse" || answersBatches(arm)) && config.arms.some(answersBatches))
    refuse(["arms"], "batch: provider is for lines of batches alone: name another arm for all other requests");
  if (isBatch(config.routing.defaultArm))
    refuse(["routing", "defaultArm"], `"${config.routing.defaultArm}" answers lines of batches alone`);
  refuseRedact(config, refuse);
  refuseJudges(config, refuse);
  refuseTenants(config, refuse);
  const fallback = config.routing.defaultArm;
  if (config.arms.some((arm) => arm.type === "reuse" && arm.name === fallback))
    refuse(["routing", "defaultArm"], `"${fallback}" reuses answers and can't answer every request`);
  if (fallback !== undefined && !names.includes(fallback))
    refuse(["routing", "defaultArm"], `"${fallback}" is no arm; there are ${names.join(", ")}`);
  const { gateway, http } = config;
  gateway.models.forEach(({ arms = [] }, index) => {
    const unknown = arms.find((arm) => !names.includes(arm));
    if (unknown !== undefined)
      refuse(["gateway", "models", index, "arms"], `"${unknown}" is no arm; there are ${names.join(", ")}`);
  });
  if (gateway.port !== 0 && gateway.port === http.port)
    refuse(["http", "port"], `${http.port} is the port of the gateway, too: give each its own`);
}

export const configSchema = configShape.superRefine((config, context) => {
  refuseSenseless(config, (path, message) => context.addIssue({ code: "custom", path, message }));
});
