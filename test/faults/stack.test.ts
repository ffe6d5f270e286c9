// The life of a stack of its own: attached to by many, refused twice, every process of it killed
// with kill -9. What was acknowledged by Kafka, the registry and ClickHouse before a kill must be
// there after it, on the same ports.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@clickhouse/client";
import { Kafka, logLevel, Partitioners } from "kafkajs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attachStack, stackStatus, stopStack, type StackInfo } from "../../stack/attach.ts";
import { identify, type ProcessIdentity } from "../../connections/process/identity.ts";
import { gone } from "../../stack/process.ts";
import type { ServerName } from "../../stack/server.ts";

const names: ServerName[] = ["kafka", "registry", "clickhouse"];
let folder: string;
let stack: StackInfo;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-life-"));
  const all = await Promise.all([1, 2, 3].map(() => attachStack(folder, { start: true })));
  stack = all[0] as StackInfo;
  expect(all).toEqual([stack, stack, stack]);
}, 240_000);
afterAll(async () => {
  await stopStack(folder);
  await rm(folder, { recursive: true, force: true });
});

function kafka(): Kafka {
  return new Kafka({ clientId: "test", brokers: stack.brokers, logLevel: logLevel.NOTHING, retry: { retries: 15 } });
}

async function produce(topic: string, value: Buffer | string): Promise<void> {
  const producer = kafka().producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  try {
    await producer.send({ topic, acks: -1, messages: [{ value }] });
  } finally {
    await producer.disconnect();
  }
}

async function latestOffset(topic: string): Promise<number> {
  const admin = kafka().admin();
  await admin.connect();
  try {
    return Number((await admin.fetchTopicOffsets(topic))[0]?.high);
  } finally {
    await admin.disconnect();
  }
}

async function createTopic(topic: string, largest?: number): Promise<void> {
  const admin = kafka().admin();
  await admin.connect();
  const configEntries = largest === undefined ? [] : [{ name: "max.message.bytes", value: String(largest) }];
  await admin.createTopics({ topics: [{ topic, numPartitions: 1, replicationFactor: 1, configEntries }] });
  await admin.disconnect();
}

async function register(subject: string): Promise<number> {
  const answer = await fetch(`${stack.registryUrl}/subjects/${subject}/versions`, {
    method: "POST",
    headers: { "content-type": "application/vnd.schemaregistry.v1+json" },
    body: JSON.stringify({ schema: JSON.stringify({ type: "record", name: subject, fields: [] }) }),
  });
  const body = (await answer.json()) as { id: number };
  return body.id;
}

async function registered(id: number): Promise<string> {
  const answer = await fetch(`${stack.registryUrl}/schemas/ids/${id}`);
  const body = (await answer.json()) as { schema: string };
  return body.schema;
}

async function clickhouse<T>(work: (client: ReturnType<typeof createClient>) => Promise<T>): Promise<T> {
  const client = createClient(stack.clickhouse);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
const rows = (): Promise<number> =>
  clickhouse(async (client) => {
    const answer = await client.query({ query: "SELECT count() AS rows FROM life.kept", format: "JSONEachRow" });
    return Number((await answer.json<{ rows: string }>())[0]?.rows);
  });
const insertRow = (): Promise<unknown> =>
  clickhouse((client) => client.insert({ table: "life.kept", values: [{ id: "x" }], format: "JSONEachRow" }));

async function identityOf(name: ServerName | "supervisor"): Promise<ProcessIdentity> {
  const status = await stackStatus(folder);
  const pid = name === "supervisor" ? status.supervisor : status.servers.find((server) => server.name === name)?.pid;
  const identity = identify(pid ?? 0);
  if (identity === undefined) throw new Error(`${name} does not run: ${JSON.stringify(status)}`);
  return identity;
}

async function killNow(identity: ProcessIdentity): Promise<void> {
  process.kill(identity.pid, "SIGKILL");
  expect(await gone(identity, 10_000)).toBe(true);
}

/** Listens on a port; undefined while it is taken. Resolves to a function that frees it. */
function listenOn(port: number): Promise<(() => Promise<void>) | undefined> {
  const server = createServer();
  return new Promise((settle) => {
    server.once("error", () => settle(undefined));
    server.listen(port, "127.0.0.1", () => settle(() => new Promise((closed) => server.close(() => closed()))));
  });
}

/** What was written so far is all there, and more can be written. */
let written = 0;
const ids: number[] = [];
async function expectNothingLost(): Promise<void> {
  expect(await latestOffset("kept")).toBe(written);
  expect(await rows()).toBe(written);
  for (const [index, id] of ids.entries()) expect(await registered(id)).toContain(`"kept${index}"`);
  await produce("kept", "x");
  await insertRow();
  ids.push(await register(`kept${written}`));
  written += 1;
  expect(new Set(ids).size).toBe(ids.length);
}

describe("a stack", () => {
  it("answers after attach, and keeps what it is given", async () => {
    await createTopic("kept");
    await clickhouse(async (client) => {
      // The database "default" of chdb keeps no tables on disk.
      await client.command({ query: "CREATE DATABASE life" });
      await client.command({ query: "CREATE TABLE life.kept (id String) ENGINE = MergeTree ORDER BY id" });
    });
    await expectNothingLost();
    await expectNothingLost();
    expect(await attachStack(folder, { start: false })).toEqual(stack);
  });

  it("refuses a second supervisor on its folder", async () => {
    const second = await new Promise<{ code: unknown; text: string }>((settle) => {
      const args = ["tools/bin/run.mjs", "stack/supervisor.ts", "--folder", folder];
      execFile(process.execPath, args, (error, _, text) => settle({ code: error?.code, text }));
    });
    expect(second.code).toBe(3);
    expect(second.text).toMatch(/a stack runs on .* already \(supervisor \d+\)/);
    await expectNothingLost();
  });

  it("takes 30 MiB where a topic allows 32, and refuses 20 where it allows 16", async () => {
    await createTopic("large", 33_554_432);
    await createTopic("smaller", 16_777_216);
    await produce("large", Buffer.alloc(30 * 1_048_576, "x"));
    await produce("large", Buffer.alloc(30 * 1_048_576, "y"));
    expect(await latestOffset("large")).toBe(2);
    await expect(produce("smaller", Buffer.alloc(20 * 1_048_576, "x"))).rejects.toThrow(/too large|larger than/i);
    expect(await latestOffset("smaller")).toBe(0);
    const consumer = kafka().consumer({ groupId: "large" });
    await consumer.connect();
    await consumer.subscribe({ topic: "large", fromBeginning: true });
    const sizes: number[] = [];
    await consumer.run({
      eachMessage: ({ message }) => {
        sizes.push(message.value?.length ?? 0);
        return Promise.resolve();
      },
    });
    await expect.poll(() => sizes, { timeout: 60_000 }).toEqual([30 * 1_048_576, 30 * 1_048_576]);
    await consumer.disconnect();
  });

  it.each(names)("starts %s again after kill -9", async (name) => {
    const before = await identityOf(name);
    await killNow(before);
    // The supervisor sees it die a moment later.
    await expect
      .poll(async () => (await stackStatus(folder)).servers.find((server) => server.name === name)?.restarts)
      .toBe(1);
    expect(await attachStack(folder, { start: false })).toEqual(stack);
    expect((await identityOf(name)).pid).not.toBe(before.pid);
    await expectNothingLost();
  });

  it("comes back on its own port when another program listened on it for a moment", async () => {
    const supervisor = await identityOf("supervisor");
    const before = await identityOf("kafka");
    const { port } = new URL(`http://${stack.brokers[0]}`);
    let close: (() => Promise<void>) | undefined;
    process.kill(supervisor.pid, "SIGSTOP");
    try {
      await killNow(before);
      // A process counts as dead a moment before its last thread has let go of its sockets.
      await expect.poll(async () => (close = await listenOn(Number(port))), { timeout: 10_000 }).toBeDefined();
    } finally {
      process.kill(supervisor.pid, "SIGCONT");
    }
    await delay(1_000);
    const waiting = (await stackStatus(folder)).servers.find(({ name }) => name === "kafka");
    expect(waiting).toMatchObject({ port: Number(port), status: "restarting" });
    await close?.();
    expect(await attachStack(folder, { start: false })).toEqual(stack);
    await expectNothingLost();
  });

  it("starts cleanly after kill -9 of the supervisor, and ends the servers left over", async () => {
    const supervisor = await identityOf("supervisor");
    const left = await Promise.all(names.map(identityOf));
    await killNow(supervisor);
    expect((await stackStatus(folder)).servers.map((server) => server.status)).toEqual(
      names.map(() => "without a supervisor"),
    );
    await expect(attachStack(folder, { start: false })).rejects.toThrow(/no stack runs/);
    expect(await attachStack(folder, { start: true })).toEqual(stack);
    for (const server of left) expect(identify(server.pid)?.started).not.toBe(server.started);
    await expectNothingLost();
  });

  it("starts cleanly after kill -9 of everything at once", async () => {
    const all = await Promise.all((["supervisor", ...names] as const).map(identityOf));
    await Promise.all(all.map(killNow));
    expect(await attachStack(folder, { start: true })).toEqual(stack);
    await expectNothingLost();
  });

  it("starts cleanly when killed in the middle of a start", async () => {
    await stopStack(folder);
    const starting = attachStack(folder, { start: true }).then(
      () => "ready",
      (error: Error) => error.message,
    );
    let supervisor: number | undefined;
    while (supervisor === undefined) {
      await delay(20);
      supervisor = (await stackStatus(folder)).supervisor;
    }
    // Somewhere between the spawn of the first server and the readiness of the last.
    await expect
      .poll(async () => (await stackStatus(folder)).servers.some((server) => server.pid !== undefined), {
        interval: 10,
      })
      .toBe(true);
    await killNow(await identityOf("supervisor"));
    expect(await starting).toMatch(/ended before it was ready/);
    expect(await attachStack(folder, { start: true })).toEqual(stack);
    await expectNothingLost();
  });

  it("stops whole", async () => {
    const all = await Promise.all((["supervisor", ...names] as const).map(identityOf));
    expect(await stopStack(folder)).toBe(true);
    for (const identity of all) expect(await gone(identity, 0)).toBe(true);
    const status = await stackStatus(folder);
    expect(status.running).toBe(false);
    expect(status.failure).toBeUndefined();
    expect(await stopStack(folder)).toBe(false);
  });
});
