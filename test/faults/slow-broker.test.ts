// A broker that answers nothing for longer than a transaction may last, again and again: what a
// stage has asked its models is committed later, not asked again, and every output is there once.
// The work is counted where a model would be called.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { configSchema } from "../../config/schema.ts";
import { createKafka } from "../../connections/kafka/kafka.ts";
import type { Kafka } from "../../connections/kafka/port.ts";
import { signalOf } from "../../runtime/lazy-abort.ts";
import { createLog } from "../../runtime/log.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics/stage.ts";
import { createStage } from "../../runtime/stage.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { testStack } from "../support/stack.ts";
import { eventually } from "../support/system.ts";
import { createUnreliableNetwork, type UnreliableNetwork } from "../support/unreliable-network.ts";

const sessionTimeoutMs = 6_000;
const inFlight = 64;
const partitions = 4;
const log = createLog({ level: "silent" });

let its: TestKafka;
let slow: Kafka;
let network: UnreliableNetwork;

beforeAll(async () => {
  its = createTestKafka();
  const { brokers } = testStack();
  network = await createUnreliableNetwork(Number(brokers[0]?.split(":")[1]));
  const config = configSchema.shape.kafka.parse({ transactionTimeoutMs: 1_000 });
  slow = createKafka({ brokers, clientId: "slow", config, log });
});
afterAll(async () => {
  await network.stop();
  await Promise.all([its.close(), slow.close()]);
});

/**
 * Runs a stage over so many records while the broker is held up; how often each record was worked
 * on.
 */
async function calls(records: number, holds: readonly number[]): Promise<Map<string, number>> {
  const [input, output] = [await its.topic(partitions), await its.topic(partitions)];
  const producer = its.kafka.plainProducer();
  await producer.send(Array.from({ length: records }, (_, i) => message(input, `r${i}`, i % partitions)));
  await producer.close();
  const worked = new Map<string, number>();
  const stage = createStage({
    name: "slow",
    group: `${input}.group`,
    topics: [input],
    transactionalId: `${input}.one`,
    instance: "one",
    sessionTimeoutMs,
    limits: { inFlight, inFlightBytes: 1_000_000, drainMs: 3_000 },
    kafka: slow,
    process: async ({ key }, { partition }, lost) => {
      const id = String(key);
      worked.set(id, (worked.get(id) ?? 0) + 1);
      await sleep(100 + Math.random() * 400, undefined, { signal: signalOf(lost) });
      return [message(output, id, partition)];
    },
    rejected: () => Promise.reject(new Error("nothing is refused here")),
    metrics: createStageMetrics(createMetricsRegistry(), "slow"),
    log,
  });
  await stage.start();
  for (const hold of holds) {
    await sleep(1_500);
    await network.hold(hold);
  }
  const done = async (): Promise<true | undefined> => {
    const lag = await its.kafka.lag(`${input}.group`, input);
    return lag.every(({ committed, end }) => committed === end) || undefined;
  };
  await eventually("an empty input", done, 90_000);
  await stage.stop();
  const ids = Array.from({ length: records }, (_, i) => `r${i}`);
  expect((await its.keys(output)).sort()).toEqual(ids.sort());
  return worked;
}

const sum = (worked: ReadonlyMap<string, number>): number => [...worked.values()].reduce((all, n) => all + n, 0);

test("transactions that time out cost no second call", { timeout: 180_000 }, async () => {
  const worked = await calls(1_200, [3_000, 3_000, 3_000]);
  expect(sum(worked)).toBe(1_200);
});

test("a lost membership costs at most what was under way", { timeout: 180_000 }, async () => {
  const worked = await calls(1_200, [9_000, 9_000]);
  // Each time the calls that were still running, and none whose result was ready.
  expect(sum(worked)).toBeLessThanOrEqual(1_200 + inFlight);
  expect(Math.max(...worked.values())).toBeLessThanOrEqual(3);
});
