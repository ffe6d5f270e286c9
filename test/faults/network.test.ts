// Connections to the broker that are cut again and again (closed, reset, in the middle of an
// answer, between a request and its answer, silently) while two instances of a stage and a tail are
// at work: every record's output comes once, and every member returns. The seed makes the cuts
// repeatable, as far as a network is: PRECEDENT_SEED=7. Every other record gives its slot up
// while it is at work, as those do that call an inline arm.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { createLog } from "../../runtime/log.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics/stage.ts";
import { createStage, type Stage } from "../../runtime/stage.ts";
import { noBrokerDefects } from "../support/kafka-log.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { whileProgressing } from "../support/progress.ts";
import { testStack } from "../support/stack.ts";
import { createUnreliableNetwork, cuts, type UnreliableNetwork } from "../support/unreliable-network.ts";

const random = splitmix64(BigInt(process.env.PRECEDENT_SEED ?? 7));
const below = (limit: number): number => Math.floor(random() * limit);
const records = 400;
const partitions = 4;

let network: UnreliableNetwork;
let its: TestKafka;
const stages: Stage[] = [];

noBrokerDefects(() => testStack().folder);
beforeAll(async () => {
  network = await createUnreliableNetwork(Number(testStack().brokers[0]?.split(":")[1]));
  its = createTestKafka();
});
afterAll(async () => {
  await Promise.all(stages.map((stage) => stage.stop()));
  await its.close();
  await network.stop();
});

const counted = (keys: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
};

test("cut connections: every record's output comes once, and every member returns", { timeout: 300_000 }, async () => {
  const [input, output] = [await its.topic(partitions), await its.topic(partitions)];
  const heard = new Set<string>();
  const tail = await its.kafka.tailTopic(output, ({ key }) => void heard.add(String(key)));
  for (const instance of ["a", "b"]) {
    const name = `${input}.${instance}`;
    const stage = createStage({
      ...{ name, group: `${input}.group`, topics: [input], transactionalId: name, instance },
      sessionTimeoutMs: 6_000,
      limits: { inFlight: 64, inFlightBytes: 1_000_000, drainMs: 5_000 },
      kafka: its.kafka,
      async process({ key, value }, _position, _signal, place) {
        if (Number(String(key).slice(1)) % 2 === 1) place?.leave({ pool: "arm", bytes: 1 });
        await sleep(below(50));
        return [{ topic: output, key, value }];
      },
      rejected: () => Promise.reject(new Error("nothing is too large")),
      metrics: createStageMetrics(createMetricsRegistry(), name),
      log: createLog({ level: "silent" }),
    });
    stages.push(stage);
    await stage.start();
  }

  const producer = its.kafka.plainProducer();
  const made = { done: false, cuts: 0 };
  const produce = async (): Promise<void> => {
    // What was not acknowledged is sent again: some records come to stand there twice.
    for (let first = 0; first < records; first += 10) {
      const batch = Array.from({ length: 10 }, (_, i) =>
        message(input, `k${first + i}`, below(partitions), "x".repeat(500)),
      );
      while (
        !(await producer.send(batch).then(
          () => true,
          () => false,
        ))
      )
        await sleep(100);
      await sleep(200);
    }
    made.done = true;
  };
  const cutAll = async (): Promise<void> => {
    for (; !made.done; made.cuts++) {
      await sleep(100 + below(300));
      network.cut(below(1_000), cuts[below(cuts.length)] ?? "close");
    }
  };
  await Promise.all([produce(), cutAll()]);
  await whileProgressing("all outputs", () => Promise.resolve({ done: heard.size === records, reached: heard.size }), {
    stillMs: 45_000,
    atMostMs: 180_000,
  });
  // The last input is not the last output: what stands there twice may still be under way.
  const asked = counted(await its.keys(input));
  await whileProgressing(
    "the outputs of what stands there twice",
    async () => {
      const keys = await its.keys(output);
      return { done: keys.length >= [...asked.values()].reduce((a, b) => a + b), reached: keys.length };
    },
    { stillMs: 30_000, atMostMs: 60_000 },
  );
  expect(made.cuts).toBeGreaterThan(10);
  expect(counted(await its.keys(output))).toEqual(asked);
  await Promise.all([tail.stop(), producer.close()]);
});
