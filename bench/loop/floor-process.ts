// A floor, in a process like the real one: exactly-once stages of the same runtime whose operators
// do nothing, so that what remains is Kafka, transactions and the runtime. Two hops as with queued
// arms (requests -> work and decisions -> responses), or one as with inline ones (requests ->
// decisions and responses). Started by systems.ts.
import { once } from "node:events";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { untilReachable } from "../../connections/kafka/retry.ts";
import { createKafka } from "../../connections/kafka/kafka.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics/stage.ts";
import { createStage } from "../../runtime/stage.ts";

const [brokers = "", prefix = "", hops = "2"] = process.argv.slice(2);
const log = createLog({ level: "info" });
// The defaults of the real system, so that both work under the same limits.
const { kafka: settings, limits } = configSchema.parse({ arms: [{ name: "none", type: "llama" }] });
const connection = { brokers: brokers.split(","), clientId: "floor", config: settings, log };

const admin = createKafkaClient(connection).admin();
await admin.connect();
const topics = ["requests", "work", "decisions", "responses"].map((name) => prefix + name);
await admin.createTopics({
  waitForLeaders: false,
  topics: topics.map((topic) => ({ topic, numPartitions: settings.partitions })),
});
for (const topic of topics) await untilReachable(() => admin.fetchTopicOffsets(topic), { log, topic });
await admin.disconnect();

const kafka = createKafka(connection);
const metrics = createMetricsRegistry();
const passOn = (name: string, source: string, outputs: readonly string[]) =>
  createStage({
    name,
    group: prefix + name,
    topics: [prefix + source],
    transactionalId: `${prefix}${name}.floor-1`,
    instance: "floor-1",
    sessionTimeoutMs: settings.sessionTimeoutMs,
    limits,
    kafka,
    process: ({ key, value }) => Promise.resolve(outputs.map((output) => ({ topic: prefix + output, key, value }))),
    rejected: () => Promise.resolve([]),
    metrics: createStageMetrics(metrics, name),
    log: log.child({ stage: name }),
  });
const stages =
  hops === "1"
    ? [passOn("plan", "requests", ["decisions", "responses"])]
    : [passOn("plan", "requests", ["work", "decisions"]), passOn("generate", "work", ["responses"])];
await Promise.all(stages.map((stage) => stage.start()));
log.info("running");

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stopping.abort());
await once(stopping.signal, "abort");
await Promise.all(stages.map((stage) => stage.stop()));
await kafka.close();
process.exit(0);
