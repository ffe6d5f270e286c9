// Two stages under one instance id, as two hosts with the same configuration would be. A later one
// is refused by name, and of two that start at once one stops. Either way every record is answered
// once and processed about once, without a fight over the producer.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signalOf } from "../../runtime/lazy-abort.ts";
import { createLog } from "../../runtime/log.ts";
import { createMetricsRegistry, createStageMetrics } from "../../runtime/metrics/stage.ts";
import { createStage, type Stage } from "../../runtime/stage.ts";
import { createTestKafka, message, type TestKafka } from "../support/kafka.ts";
import { eventually } from "../support/system.ts";

const records = 400;
let its: TestKafka;
beforeAll(() => {
  its = createTestKafka();
});
afterAll(() => its.close());

function stageOn(input: string, output: string, work: () => void): Stage {
  return createStage({
    name: "twins",
    group: `${input}.group`,
    topics: [input],
    transactionalId: `${input}.plan-1`,
    instance: "plan-1",
    sessionTimeoutMs: 6_000,
    limits: { inFlight: 64, inFlightBytes: 1_000_000, drainMs: 2_000 },
    kafka: its.kafka,
    async process({ key }, { partition }, lost) {
      work();
      await sleep(100, undefined, { signal: signalOf(lost) });
      return [message(output, String(key), partition)];
    },
    rejected: () => Promise.reject(new Error("nothing is refused here")),
    metrics: createStageMetrics(createMetricsRegistry(), "twins"),
    log: createLog({ level: "silent" }),
  });
}

async function send(input: string): Promise<void> {
  const producer = its.kafka.plainProducer();
  for (let i = 0; i < records; i += 10) {
    await producer.send(Array.from({ length: 10 }, (_, j) => message(input, `r${i + j}`, (i + j) % 8)));
    await sleep(50);
  }
  await producer.close();
}

async function answeredOnce(input: string, output: string): Promise<void> {
  await eventually("an empty input", async () => {
    const lag = await its.kafka.lag(`${input}.group`, input);
    return lag.every(({ committed, end }) => committed === end) || undefined;
  });
  const keys = await its.keys(output);
  expect([keys.length, new Set(keys).size]).toEqual([records, records]);
}

test("one that comes later is refused, and disturbs no other", { timeout: 120_000 }, async () => {
  const [input, output] = [await its.topic(8), await its.topic(8)];
  let calls = 0;
  const first = stageOn(input, output, () => {
    calls++;
  });
  await first.start();
  const late = stageOn(input, output, () => {
    calls++;
  });
  const refused = expect(late.start()).rejects.toThrow(/instance "plan-1" is running in .* already, as a process at/);
  await send(input);
  await refused;
  await answeredOnce(input, output);
  expect(calls).toBe(records);
  await Promise.all([first.stop(), late.stop()]);
});

test("of two that start at once one stops loudly, and the other does the work", { timeout: 120_000 }, async () => {
  const [input, output] = [await its.topic(8), await its.topic(8)];
  let calls = 0;
  const twins = [0, 1].map(() =>
    stageOn(input, output, () => {
      calls++;
    }),
  );
  await Promise.all(twins.map((stage) => stage.start()));
  await send(input);
  await answeredOnce(input, output);
  const failures = twins.flatMap((stage) => stage.health().failure ?? []);
  expect(failures).toHaveLength(1);
  expect(failures[0]).toContain("give each process an id of its own");
  expect(calls).toBeLessThanOrEqual(records + 2 * 64);
  await Promise.all(twins.map((stage) => stage.stop()));
});
