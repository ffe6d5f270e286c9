// A transaction is left open by a process that dies, and the broker is killed and kept away for
// longer than the transaction's timeout. Once it is back, the offsets must be stable within 15 s
// and nothing of the transaction be visible, three times; the process comes back at the third.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { attachStack, stopStack } from "../../stack/attach.ts";
import { stackFolder } from "../../stack/folder.ts";
import { createTestKafka, type TestKafka } from "../support/kafka.ts";
import { withoutServer } from "../support/servers.ts";
import { eventually } from "../support/system.ts";

const transactionTimeoutMs = 5_000;
const stableWithinMs = 15_000;
let folder: string;
let its: TestKafka;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-away-"));
  its = createTestKafka((await attachStack(folder, { start: true })).brokers);
}, 240_000);
afterAll(async () => {
  await its.close();
  await stopStack(folder);
  await rm(folder, { recursive: true, force: true });
});

test.each([
  ["no broker comes back", false],
  ["no broker comes back, again", false],
  ["the process comes back", true],
])("offsets are stable soon after the broker's return: %s", { timeout: 240_000 }, async (_, comesBack) => {
  const [input, output] = [await its.topic(2), await its.topic(2)];
  const [id, group] = [`${output}.id`, `${output}.group`];
  const dying = its.client.producer({
    ...{ transactionalId: id, idempotent: true, maxInFlightRequests: 1 },
    transactionTimeout: transactionTimeoutMs,
  });
  await dying.connect();
  const transaction = await dying.transaction();
  const partitions = [0, 1].map((partition) => ({ partition, offset: "7" }));
  await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic: input, partitions }] });
  const messages = [0, 1].map((partition) => ({ key: "open", value: "open", partition }));
  await transaction.send({ topic: output, messages });
  await dying.disconnect();

  await withoutServer(folder, "kafka", () => sleep(transactionTimeoutMs + 3_000));
  const back = performance.now();
  const next = its.kafka.transactionalProducer(id, () => ({ groups: [group], topics: [output] }));
  // As a stage does it: a broker that has just come back may refuse the first questions.
  if (comesBack) await eventually("the producer", () => next.initialise().then(() => true), stableWithinMs);
  const positions = await eventually("stable offsets", () => its.kafka.lag(group, input), stableWithinMs);
  console.log(JSON.stringify({ comesBack, stableAfter_ms: Math.round(performance.now() - back) }));
  expect(performance.now() - back).toBeLessThan(stableWithinMs);
  expect(positions.map(({ committed }) => committed)).toEqual([undefined, undefined]);
  // Read-committed readers get past it: what is sent behind it arrives.
  const plain = its.kafka.plainProducer();
  await plain.send([0, 1].map((partition) => ({ topic: output, key: "after", value: null, partition })));
  expect(await its.keys(output)).toEqual(["after", "after"]);
  await Promise.all([plain.close(), next.close()]);
  const log = await readFile(join(stackFolder(folder).logs, "kafka.log"), "utf8");
  expect(log).not.toContain("likely deleted already");
});
