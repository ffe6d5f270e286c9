// Two real stages without operators, two processes' worth of each, and a load on them: requests ->
// (plan) -> work, decisions and copies -> (generate) -> responses. What must come out is simple:
// every record of requests once in each of the other topics.
import type { Admin } from "kafkajs";
import { setTimeout as sleep } from "node:timers/promises";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { createKafka } from "../../connections/kafka/kafka.ts";
import type { Kafka, OutgoingMessage } from "../../connections/kafka/port.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics/stage.ts";
import { createStage, type Stage } from "../../runtime/stage.ts";
import { whileProgressing } from "./progress.ts";

export const topics = ["requests", "work", "decisions", "copies", "responses"] as const;

export interface Relay {
  admin: Admin;
  issued(): number;
  answered(): number;
  /** Sends these besides the load; their answers count, they do not count as issued. */
  ask(ids: readonly string[]): Promise<void>;
  /**
   * Resolves when so many more are answered and all that were issued by now; rejects when they are
   * not within that time.
   */
  moreAnswers(count: number, withinMs: number): Promise<void>;
  /**
   * Ends the load and waits for all answers and commits. Rejects when nothing more comes for so
   * long.
   */
  finish(stillMs: number): Promise<void>;
  /** How often each id stands in a topic, read anew and read-committed. */
  recordsOf(topic: string): Promise<Map<string, number>>;
  /** Every step back of a committed offset that was seen. */
  backwards: readonly string[];
  /** What keeps the stages from working, as /healthz would say it. */
  problems(): string[];
  stop(): Promise<void>;
}

const log = createLog({ level: process.env.PRECEDENT_TEST_LOG === undefined ? "silent" : "info" });
const config = configSchema.shape.kafka.parse({ sessionTimeoutMs: 6_000 });
const clientOf = (brokers: readonly string[], clientId: string): Kafka =>
  createKafka({ brokers, clientId, config, log: log.child({ client: clientId }) });

export async function startRelay(brokers: readonly string[], perSecond: number): Promise<Relay> {
  const admin = createKafkaClient({ brokers, clientId: "relay-admin", config, log }).admin();
  await admin.connect();
  await createTopics(admin, topics);
  const stages: Stage[] = [];
  const clients: Kafka[] = [];
  for (const instance of ["a", "b"])
    for (const [name, input, outputs] of [
      ["plan", "requests", ["work", "decisions", "copies"]],
      ["generate", "work", ["responses"]],
    ] as const) {
      const kafka = clientOf(brokers, `${name}-${instance}`);
      clients.push(kafka);
      stages.push(stageOf({ kafka, name, input, outputs, instance }));
    }
  await Promise.all(stages.map((stage) => stage.start()));

  const outside = clientOf(brokers, "relay-outside");
  const answered = new Set<string>();
  const tail = await outside.tailTopic("responses", ({ key }) => void answered.add(String(key)));
  const producer = outside.plainProducer();
  let issued = 0;
  let stopping = false;
  const send = async (messages: OutgoingMessage[]): Promise<void> => {
    for (;;)
      try {
        return await producer.send(messages);
      } catch (error) {
        log.warn({ err: error }, "the load waits for the brokers");
        await sleep(200);
      }
  };
  const ask = (ids: readonly string[]): Promise<void> =>
    send(ids.map((id) => ({ topic: "requests", key: id, value: Buffer.from(id) })));
  const load = (async () => {
    const slice = Math.ceil(perSecond / 10);
    for (; !stopping; await sleep(100)) {
      const ids = Array.from({ length: slice }, (_, i) => `r-${issued + i}`);
      await ask(ids);
      issued += slice;
    }
  })();

  const problems = (): string[] => stages.flatMap((stage) => stage.health().problems ?? []);
  const backwards: string[] = [];
  const seen = new Map<string, number>();
  const lag = async (): Promise<{ read: number; behind: string[] }> => {
    const behind: string[] = [];
    let read = 0;
    for (const [group, topic] of [
      ["plan", "requests"],
      ["generate", "work"],
    ] as const)
      for (const { partition, end, committed = 0 } of await outside.lag(group, topic)) {
        const key = `${group} ${topic}/${partition}`;
        if (committed < (seen.get(key) ?? 0)) backwards.push(`${key}: ${seen.get(key) ?? 0} -> ${committed}`);
        seen.set(key, committed);
        read += committed;
        if (committed < end) behind.push(`${key}: ${committed} of ${end}`);
      }
    return { read, behind };
  };

  const recordsOf = async (topic: string): Promise<Map<string, number>> => {
    const places = new Map<string, string>();
    const reader = outside.readTopic(topic, (records, partition) => {
      for (const { key, offset } of records) places.set(`${partition}/${offset}`, String(key));
    });
    await reader.caughtUp;
    await reader.stop();
    const counts = new Map<string, number>();
    for (const id of places.values()) counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts;
  };

  return {
    admin,
    issued: () => issued,
    answered: () => answered.size,
    backwards,
    problems,
    ask,
    async moreAnswers(count, withinMs) {
      const goal = answered.size + count;
      const asked = Array.from({ length: issued }, (_, i) => `r-${i}`);
      for (const end = Date.now() + withinMs; ; await sleep(50)) {
        const waiting = asked.filter((id) => !answered.has(id));
        if (answered.size >= goal && waiting.length === 0) return;
        if (Date.now() < end) continue;
        const more = `${count + answered.size - goal} of ${count} more answers within ${withinMs} ms`;
        throw new Error(`${more}, and ${waiting.length} that were asked before have none: ${problems().join("; ")}`);
      }
    },
    async finish(stillMs) {
      stopping = true;
      await load;
      const look = async () => ({ done: answered.size >= issued, reached: answered.size });
      await whileProgressing("all answers", look, { stillMs, atMostMs: 3 * stillMs }).catch(async (error: unknown) => {
        const counts = await Promise.all(topics.map(async (topic) => `${topic} ${(await recordsOf(topic)).size}`));
        const { behind } = await lag();
        throw new Error(`of ${issued} ids: ${counts.join(", ")}; not committed: ${behind.join(", ")}`, {
          cause: error,
        });
      });
      const committed = async () => {
        const { read, behind } = await lag();
        return { done: behind.length === 0, reached: read, missing: behind.join(", ") };
      };
      await whileProgressing("all committed", committed, { stillMs, atMostMs: 3 * stillMs });
    },
    recordsOf,
    async stop() {
      stopping = true;
      await load;
      await Promise.all([...stages.map((stage) => stage.stop()), tail.stop(), producer.close()]);
      await Promise.all([...clients, outside].map((client) => client.close()));
      await admin.disconnect();
    },
  };
}

export async function createTopics(admin: Admin, names: readonly string[]): Promise<void> {
  await admin.createTopics({
    waitForLeaders: false,
    topics: names.map((topic) => ({
      topic,
      numPartitions: 4,
      replicationFactor: 3,
      configEntries: [{ name: "min.insync.replicas", value: "2" }],
    })),
  });
}

interface StageSetting {
  kafka: Kafka;
  name: string;
  input: string;
  outputs: readonly string[];
  instance: string;
}
/** Takes up to 100 ms for a record, differently long for each, so that they finish in any order. */
function stageOf({ kafka, name, input, outputs, instance }: StageSetting): Stage {
  return createStage({
    name,
    group: name,
    topics: [input],
    outputs: () => outputs,
    transactionalId: `${name}.${instance}`,
    instance: `${name}-${instance}`,
    sessionTimeoutMs: config.sessionTimeoutMs,
    health: { stalledAfterMs: 5_000, slowestMs: 1_000 },
    limits: { inFlight: 256, inFlightBytes: 16_000_000, drainMs: 3_000 },
    kafka,
    async process({ key, value, offset }) {
      await sleep((offset * 37) % 100);
      return outputs.map((topic) => ({ topic, key, value }));
    },
    rejected: () => Promise.resolve([]),
    metrics: createStageMetrics(createMetricsRegistry(), name),
    log: log.child({ stage: `${name}.${instance}` }),
  });
}
