// What a small message may hold, and what is too large to be sent on: memory stays bounded, the
// tenant beside it is served, and a dead letter that does not fit is cut off or withheld, once.
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { ConfigResourceTypes } from "../../connections/kafka/kafkajs.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { DeadLetter } from "../../schemas/types.ts";
import { follow } from "../support/follow.ts";
import { startJavaProducer, type JavaProducer } from "../support/java-producer.ts";
import { testStack } from "../support/stack.ts";
import { eventually, startSystem, type TestSystem } from "../support/system.ts";

const zero = Buffer.alloc(1);
const mebibyte = 1024 * 1024;
let folder: string;
let system: TestSystem;
let java: JavaProducer;
const letters: DeadLetter[] = [];
let stopLetters: () => Promise<void>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-bombs-"));
  const file = join(folder, "log.jsonl");
  await writeFile(file, JSON.stringify({ request: "hello", response: "world" }));
  const tenants = { acme: { principal: "User:acme" }, beta: { principal: "User:beta" } };
  [java, system] = await Promise.all([
    startJavaProducer("3g"),
    startSystem(
      { arms: [{ name: "recorded", type: "recorded", file }], tenants, kafka: { partitions: 2 } },
      { stages: ["plan", "record", "intake", "outlet"] },
    ),
  ]);
  const tail = await follow(system.session, "dead-letters", (letter) => letters.push(letter));
  stopLetters = () => tail.stop();
}, 180_000);
afterAll(async () => {
  await Promise.all([stopLetters(), java.stop()]);
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

const letterOf = (topic: string, offset: number, stage: string): Promise<DeadLetter> =>
  eventually(`the dead letter of ${topic} at ${offset}`, () =>
    Promise.resolve(letters.find((one) => one.topic === topic && one.offset === offset && one.stage === stage)),
  );
/** A tenant asks on both partitions and gets its answers. */
const isServed = async (tenant: string): Promise<void> => {
  const { kafka, codec, topic } = system.session;
  const ids = [uuidv7(), uuidv7()];
  const producer = kafka.plainProducer();
  await producer.send(
    ids.map((id, partition) => ({
      ...{ topic: topic("tenant-requests", tenant), partition, key: id },
      value: codec.encode("requests", plainRequest("hello", { id, tenant, createdAt: Date.now() })),
    })),
  );
  await producer.close();
  const answers = await Promise.all(ids.map((id) => system.response(id)));
  expect(answers.map(({ status }) => status)).toEqual(["ok", "ok"]);
};
/** Bytes of the process above what it has now, at most, until the work is done. */
async function mostAbove(work: () => Promise<void>): Promise<number> {
  const rss = (): number => process.memoryUsage.rss();
  const quiet = rss();
  let most = quiet;
  const timer = setInterval(() => (most = Math.max(most, rss())), 5);
  await work();
  clearInterval(timer);
  return most - quiet;
}

test.each(["gzip", "zstd", "lz4", "snappy"] as const)(
  "a bomb of %s, up to 800 MB behind 1 MB: one dead letter, 100 MB of memory at most, and the other tenant is served",
  async (codec) => {
    const topic = system.session.topic("tenant-requests", "acme");
    // Snappy reaches 21 to one, and topics take 16 MB.
    const repeated = codec === "snappy" ? 150e6 : 800e6;
    await isServed("beta");
    await sleep(500);
    const above = await mostAbove(async () => {
      const sent = java.send({ topic, codec, end: "plain", records: [{ partition: 1, value: zero, repeated }] });
      const [offset] = await sent;
      expect(offset).toBeTypeOf("number");
      const [letter] = await Promise.all([letterOf(topic, Number(offset), "intake-requests"), isServed("beta")]);
      expect(letter).toMatchObject({ code: "batch_too_large", tenant: "acme", firstOffset: offset, fullBytes: null });
    });
    expect(above).toBeLessThan(100e6);
    await isServed("acme");
  },
  120_000,
);

test("a record larger than a dead letter is cut off, with its size, its hash and its position", async () => {
  const topic = system.session.topic("requests");
  const value = Buffer.alloc(40 * mebibyte, "not Avro, ");
  const large = { partition: 0, value: Buffer.from("not Avro, "), repeated: value.length };
  const [offset] = await java.send({ topic, codec: "zstd", end: "plain", records: [large] });
  const letter = await letterOf(topic, Number(offset), "plan");
  expect(letter).toMatchObject({ code: "undecodable", partition: 0, fullBytes: value.length });
  expect(letter.fullSha256).toBe(createHash("sha256").update(value).digest("hex"));
  expect(letter.value?.equals(value.subarray(0, mebibyte))).toBe(true);
  const whole = Buffer.alloc(14 * mebibyte, 7);
  const fitting = { partition: 0, value: Buffer.from([7]), repeated: whole.length };
  const [next] = await java.send({ topic, codec: "none", end: "plain", records: [fitting] });
  const fits = await letterOf(topic, Number(next), "plan");
  expect([fits.fullBytes, fits.value?.equals(whole)]).toEqual([null, true]);
  await isServed("beta");
});

test("a dead letter that the broker takes in no form is withheld once, counted, and the partition goes on", async () => {
  const { session } = system;
  const client = createKafkaClient({
    ...{ brokers: testStack().brokers, clientId: "operator", config: session.config.kafka, log: session.log },
  });
  const admin = client.admin();
  await admin.connect();
  const limit = (bytes: number) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: session.topic("dead-letters"),
          configEntries: [{ name: "max.message.bytes", value: String(bytes) }],
        },
      ],
    });
  const withheld = async (stage: string): Promise<number> => {
    const { values } = (await session.metrics.getSingleMetric("precedent_dropped_total")?.get()) ?? { values: [] };
    return values.find(({ labels }) => labels.stage === stage && labels.reason === "withheld")?.value ?? 0;
  };
  await limit(100);
  try {
    const bad = (topic: string, ...partitions: number[]) =>
      java.send({
        ...{ topic, codec: "none", end: "plain" },
        records: partitions.map((partition) => ({ partition, value: Buffer.from("not Avro") })),
      });
    // Brokers take the new limit up a moment after they have acknowledged it.
    await eventually("the limit to hold", async () => {
      await bad(session.topic("requests"), 0);
      return (await withheld("plan")) > 0 ? true : undefined;
    });
    await isServed("beta");
    const before = await withheld("plan");
    await bad(session.topic("requests"), 0, 1);
    await bad(session.topic("observations"), 0, 1);
    await eventually("both stages to go on", async () => {
      const counts = [(await withheld("plan")) - before, await withheld("record")];
      return counts.every((count) => count >= 2) ? counts : undefined;
    });
    await isServed("beta");
    expect([(await withheld("plan")) - before, await withheld("record")]).toEqual([2, 2]);
  } finally {
    await limit(32 * mebibyte);
    await admin.disconnect();
  }
});
