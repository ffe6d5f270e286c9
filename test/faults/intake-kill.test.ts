// kill -9 of intake and of outlet in the middle of their work: each request that a tenant put into
// its own topic is one request of `requests`, under one name, and one response in the tenant's own.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RecordOf } from "../../schemas/records.ts";
import { eventually, requestOf, startSystem, type TestSystem } from "../support/system.ts";
import { createWorkers, type Workers } from "../support/workers.ts";

const stages = ["intake", "outlet"] as const;
/** One a round. */
const killed = ["intake", "outlet", "intake", "outlet", "intake"] as const;
const each = 90;
const requests = killed.length * each;

let folder: string;
let system: TestSystem;
let workers: Workers;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-intake-kill-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: "question", response: "answer" }));
  system = await startSystem(
    {
      tenants: { acme: {}, beta: {} },
      arms: [{ name: "small", type: "recorded", file, cost: 0.1, dispatch: "queued" }],
      // What is asked here is delivery: on a busy machine nothing may be refused for coming late.
      limits: { deadlineMs: 600_000 },
      kafka: { partitions: 2, sessionTimeoutMs: 6_000, transactionTimeoutMs: 3_000 },
    },
    { stages: ["plan", "generate"] },
  );
  workers = createWorkers(system.config, folder);
  await Promise.all(stages.map((stage) => workers.start(stage, stage)));
});

afterAll(async () => {
  await workers.stop();
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

/** All that a read-committed reader finds in a topic. */
async function recordsOf<N extends "requests" | "responses">(name: N, topic: string): Promise<RecordOf[N][]> {
  const { kafka, codec } = system.session;
  const values: Buffer[] = [];
  const reader = kafka.readTopic(topic, (records) => {
    for (const { value } of records) if (value !== null) values.push(value);
  });
  await reader.caughtUp;
  await reader.stop();
  return Promise.all(
    values.map(async (value) => {
      const decoded = await codec.decode(name, value);
      if (!decoded.ok) throw new Error(decoded.reason);
      return decoded.value;
    }),
  );
}

test("kill -9 of intake and outlet: nothing is lost, nothing is there twice", { timeout: 400_000 }, async () => {
  const { codec, kafka, topic } = system.session;
  const producer = kafka.plainProducer();
  const put = async (i: number): Promise<void> => {
    // Every other one is named by where it lies.
    const request = requestOf("question", { metadata: { number: String(i) } });
    const value = codec.encode("tenant-requests", i % 2 === 0 ? request : { ...request, id: null });
    await producer.send([{ topic: topic("tenant-requests", i % 3 === 0 ? "beta" : "acme"), key: request.id, value }]);
  };
  for (const [round, stage] of killed.entries()) {
    const putting = Promise.all(Array.from({ length: each }, (_, i) => put(round * each + i)));
    await sleep(150 * (round + 1));
    await workers.kill(stage);
    await putting;
    await workers.start(stage, stage);
  }
  await producer.close();

  const own = async (tenant: string) => recordsOf("responses", topic("tenant-responses", tenant));
  const [acme, beta] = await eventually(
    "all responses in the tenants' topics",
    async () => {
      const found = [await own("acme"), await own("beta")] as const;
      return found[0].length + found[1].length >= requests ? found : undefined;
    },
    90_000,
  );
  // Nothing comes after them.
  await sleep(2_000);
  const copies = await recordsOf("requests", topic("requests"));
  expect(copies).toHaveLength(requests);
  expect(new Set(copies.map(({ metadata }) => metadata["number"])).size).toBe(requests);
  expect(new Set(copies.map(({ id }) => id)).size).toBe(requests);
  expect(new Set((await own("acme")).map(({ requestId }) => requestId)).size).toBe((await own("acme")).length);
  for (const [tenant, found] of [["acme", acme] as const, ["beta", beta] as const]) {
    const asked = copies.filter((copy) => copy.tenant === tenant).map(({ id }) => id);
    expect(asked).toHaveLength(tenant === "beta" ? requests / 3 : (requests * 2) / 3);
    expect(found.map(({ requestId }) => requestId).sort()).toEqual(asked.sort());
    expect(found.every((response) => response.tenant === tenant && response.text === "answer")).toBe(true);
  }
  const named = copies.filter(({ id }) => id?.startsWith(topic("tenant-requests")) === true);
  expect(named).toHaveLength(requests / 2);
  expect(workers.ended()).toEqual([]);
});
