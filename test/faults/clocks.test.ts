// Clients whose clocks are wrong, or lie: everybody is answered, no row lands in a month that is
// not this one, later feedback counts for more than earlier, and what is learnt is what the same
// feedback with right clocks would teach. What counts is the broker's time.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { createAggregate } from "../../operators/aggregate/aggregate.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Feedback } from "../../schemas/types.ts";
import { feedbackOf } from "../support/learning.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const minute = 60_000;
const now = Date.now();
const clocks: readonly (readonly [string, number | null])[] = [
  ["right", now],
  ["none", null],
  ["3 minutes behind", now - 3 * minute],
  ["an hour behind", now - 60 * minute],
  ["3 minutes ahead", now + 3 * minute],
  ["2099", Date.UTC(2099, 0, 1)],
  ["1970", 0],
  ["before 1970", -86_400_000],
  ["absurd", 2 ** 52 - 1],
];
let folder: string;
let system: TestSystem;
let producer: ReturnType<TestSystem["session"]["kafka"]["plainProducer"]>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-clocks-"));
  const file = join(folder, "log.jsonl");
  const lines = clocks.map(([name]) => JSON.stringify({ request: `the clock is ${name}`, response: name }));
  await writeFile(file, lines.join("\n"));
  system = await startSystem(
    { clickhouse: { ttlDays: 30 }, arms: [{ name: "recorded", type: "recorded", dispatch: "queued", file }] },
    { stages: ["plan", "generate", "record"] },
  );
  producer = system.session.kafka.plainProducer();
});
afterAll(async () => {
  await producer.close();
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

async function give(...feedback: Feedback[]): Promise<void> {
  const { codec, topic } = system.session;
  for (const one of feedback)
    await producer.send([{ topic: topic("feedback"), key: one.requestId, value: codec.encode("feedback", one) }]);
}
const query = <Row>(sql: string): Promise<Row[]> => system.session.clickhouse.query<Row>(sql);
const count = async (table: string, wanted: number): Promise<void> => {
  await system.eventually(`${wanted} rows of ${table}`, async () => {
    const [row] = await query<{ n: number }>(`SELECT toUInt32(count()) AS n FROM ${table} FINAL`);
    return row?.n === wanted ? true : undefined;
  });
};

test("all are answered, within a deadline that runs from when the request came", async () => {
  const allow = { arms: null, maxCost: null, deadlineMs: 30_000, costWeight: null };
  const answers = await Promise.all(
    clocks.map(([name, createdAt]) => system.ask(`the clock is ${name}`, { id: `clock ${name}`, createdAt, allow })),
  );
  expect(answers.map(({ status, text }) => [status, text])).toEqual(clocks.map(([name]) => ["ok", name]));
  for (const { timings } of answers) {
    expect(timings.total).toBeGreaterThanOrEqual(0);
    expect(timings.total).toBeLessThan(30_000);
  }
});

test("a row is dated by the broker, stands in this month's partition, and says beside it what the client said", async () => {
  await count("requests", clocks.length);
  const rows = await query<{ id: string; age: number; reported: number | null }>(
    `SELECT request_id AS id, toFloat64(now64(3, 'UTC') - created_at) AS age, toUnixTimestamp64Milli(reported_at) AS reported
     FROM requests FINAL`,
  );
  for (const { age } of rows) expect(Math.abs(age)).toBeLessThan(120);
  const reported = new Map(rows.map((row) => [row.id, row.reported]));
  expect(reported.get("clock 2099")).toBe(Date.UTC(2099, 0, 1));
  expect(reported.get("clock none")).toBeNull();
  const partitions = await query<{ partition: string }>(
    `SELECT DISTINCT toString(toYYYYMM(created_at)) AS partition FROM requests`,
  );
  // A run may begin in one month and end in the next.
  expect(partitions.length).toBeLessThanOrEqual(2);
  for (const { partition } of partitions) expect(Math.abs(Number(partition) - yearMonth())).toBeLessThan(90);
});
const yearMonth = (): number => new Date().getUTCFullYear() * 100 + new Date().getUTCMonth() + 1;

test("later feedback counts, whatever time it says; and what is learnt is what right clocks would teach", async () => {
  const times = [Date.UTC(2099, 0, 1), 0, -1, now + 3 * minute, 2 ** 52 - 1, now - 60 * minute];
  const feedback = clocks.flatMap(([name], i) => [
    feedbackOf(`clock ${name}`, {
      id: `${name} 1`,
      kind: "reward",
      value: 1,
      source: "person",
      createdAt: times[i % 6] ?? 0,
    }),
    feedbackOf(`clock ${name}`, {
      id: `${name} 2`,
      kind: "reward",
      value: 0.25,
      source: "person",
      createdAt: times[(i + 1) % 6] ?? 0,
    }),
  ]);
  await give(...feedback);
  await Promise.all([count("feedback", 2 * clocks.length), count("decisions", clocks.length)]);
  const { clickhouse, topic } = system.session;
  const aggregate = createAggregate({
    clickhouse,
    topics: { feedback: topic("feedback"), decisions: topic("decisions") },
    featureVersion: FEATURE_VERSION,
    dimension: FEATURE_COUNT,
  });
  while ((await aggregate.advance()).rows > 0);
  const rewards = await query<{ reward: number }>("SELECT reward FROM rewards FINAL");
  expect(rewards.map(({ reward }) => reward)).toEqual(clocks.map(() => 0.25));
  const [learnt] = await aggregate.statistics(1);
  // Nothing has faded: with a half-life of an hour all of it is of the newest two hours.
  expect(learnt?.count).toBe(clocks.length);
  expect(learnt?.weight).toBeGreaterThanOrEqual(clocks.length / 2);
  for (const at of [learnt?.newestAt ?? 0, (learnt?.lastHour ?? 0) * 1_000])
    expect(Math.abs(Date.now() - at)).toBeLessThan(2 * 60 * minute);
});

test("the broker stamps a record itself, whatever stamp the producer gave it", async () => {
  const { codec, topic } = system.session;
  const answered = system.response("stamped");
  const value = codec.encode("requests", plainRequest("the clock is right", { id: "stamped", createdAt: null }));
  await producer.send([{ topic: topic("requests"), key: "stamped", value, timestamp: 0 }]);
  expect(await answered).toMatchObject({ status: "ok" });
  await count("requests", clocks.length + 1);
  const rows = await query<{ age: number }>(
    "SELECT toFloat64(now64(3, 'UTC') - created_at) AS age FROM requests FINAL WHERE request_id = 'stamped'",
  );
  expect(Math.abs(rows[0]?.age ?? Infinity)).toBeLessThan(120);
});
