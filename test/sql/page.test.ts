// The page's bounded queries on a real ClickHouse: what is cut off says so, and what is left is
// right.
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { readExamples } from "../../gateway/page/data/examples.ts";
import { readRequests } from "../../gateway/page/data/requests.ts";
import { mostSummed, readSessions } from "../../gateway/page/data/sessions.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";

let database: MigratedDatabase;
let clickhouse: ClickHouse;
beforeAll(async () => {
  database = await startDatabase("page_test");
  clickhouse = database.clickhouse;
});
afterAll(() => database.remove());

const [minute, hour] = [60_000, 3_600_000];
const now = Date.now();
const at = `fromUnixTimestamp64Milli(toInt64(at), 'UTC')`;

/** Requests and answers; the arm takes turns. startAt, stepMs: of their times. */
async function served(name: string, count: number, startAt: number, stepMs: number, session = ""): Promise<void> {
  const rows = `SELECT number, concat('${name}-', leftPad(toString(number), 6, '0')) AS id, ${startAt} + number * ${stepMs} AS at FROM numbers(${count})`;
  await clickhouse.command(
    `INSERT INTO requests (request_id, tenant, domain, messages, metadata, created_at, kafka_offset)
     SELECT id, 't', 't/d', [('user', 'question')], map('session', '${session}'), ${at}, number FROM (${rows})`,
  );
  await clickhouse.command(
    `INSERT INTO responses (request_id, tenant, domain, attempt, status, arm, source, prompt_tokens, cost, created_at, kafka_offset)
     SELECT id, 't', 't/d', 1, 'ok', ['small', 'large'][1 + number % 2], 'generated', 10, 1, ${at}, number FROM (${rows})`,
  );
}

it("sums a session of its own requests, however long another one is", async () => {
  await served("long", mostSummed + 500, now - 10 * minute, 100, "long");
  await served("short", 3, now - 60 * minute, minute, "short");
  const { rows } = await readSessions(clickhouse, { from: now - 24 * hour, until: now });
  expect(rows).toMatchObject([
    { session: "long", requests: mostSummed + 500, summed: mostSummed, cost: mostSummed, switches: mostSummed - 1 },
    { session: "short", requests: 3, summed: 3, cost: 3, promptTokens: 30, arms: ["large", "small"], switches: 2 },
  ]);
  expect(rows[0]?.firstAt).toBe(now - 10 * minute);
});

it("lists an answer whose request is not recorded yet", async () => {
  await served("first", 2, now - 30 * minute, minute);
  await clickhouse.command(
    `INSERT INTO responses (request_id, tenant, domain, attempt, status, arm, source, cost, created_at, kafka_offset)
     SELECT 'before', 't', 't/d', 1, 'ok', 'small', 'generated', 2, fromUnixTimestamp64Milli(toInt64(${now - 20 * minute}), 'UTC'), 1`,
  );
  const { rows } = await readRequests(clickhouse, { from: now - 31 * minute, until: now - 15 * minute, sort: "cost" });
  expect(rows.map(({ id, question }) => [id, question])).toEqual([
    ["before", ""],
    ["first-000001", "question"],
    ["first-000000", "question"],
  ]);
  expect(rows[0]).toMatchObject({
    ...{ tenant: "t", domain: "t/d", state: "ok", arm: "small", cost: 2, createdAt: now - 20 * minute },
  });
});

const shown = (name: string, count: number, example: string): Promise<void> =>
  clickhouse.command(
    `INSERT INTO example_uses (example_id, request_id, tenant, domain, arm, model, position, arm_cost, arm_mean, created_at, kafka_offset)
     SELECT ${example}, request_id, tenant, domain, 'small', 'm', 1, 0.5, 0.6, created_at, kafka_offset FROM requests
     WHERE startsWith(request_id, '${name}-') ORDER BY request_id LIMIT ${count}`,
  );

it("ranks examples as the view example_gain does, and says from when on it counts uses", async () => {
  await clickhouse.command(
    `INSERT INTO examples (example_id, tenant, domain, request, response, source_arm, quality, created_at, kafka_timestamp)
     SELECT concat('e', toString(number)), 't', 't/d', concat('question ', toString(number)), 'answer', 'large', 0.8, now64(3), now64(3) FROM numbers(8)`,
  );
  await served("used", 40, now - 40 * hour, hour);
  await shown("used", 40, "concat('e', toString(kafka_offset % 7))");
  const view = await clickhouse.query<object>(
    `SELECT example_id AS id, gain, uses, rated_uses AS ratedUses, mean_quality AS meanQuality FROM example_gain ORDER BY gain DESC, uses DESC, id`,
  );
  const { rows, countedFrom } = await readExamples(clickhouse, {});
  expect(countedFrom).toBeNull();
  expect(
    rows.map(({ id, gain, uses, ratedUses, meanQuality }) => ({ id, gain, uses, ratedUses, meanQuality })),
  ).toEqual(view.map((row) => ({ ...row, gain: expect.closeTo((row as { gain: number }).gain, 12) as number })));
  expect((await readExamples(clickhouse, { search: "QUESTION 3" })).rows.map(({ id }) => id)).toEqual(["e3"]);
  const newest = await readExamples(clickhouse, { sort: "newest" });
  expect(newest.rows.find(({ id }) => id === "e7")).toMatchObject({ gain: 0, uses: 0 });
  expect(newest.rows.find(({ id }) => id === rows[0]?.id)).toEqual(rows[0]);

  const busyFrom = now - hour;
  await served("busy", 50_000, busyFrom, 10);
  await shown("busy", 50_000, "'e7'");
  // Another tenant's older use, whose request has the same id as one that counts.
  const older = (table: string, columns: string, values: string): Promise<void> =>
    clickhouse.command(
      `INSERT INTO ${table} (request_id, tenant, domain, created_at, ${columns}) SELECT 'busy-000001', 'u', 'u/d', fromUnixTimestamp64Milli(toInt64(${now - 20 * hour})), ${values}`,
    );
  await older("requests", "messages", "[('user', 'question')]");
  await older("responses", "attempt, status, arm, source, cost", "1, 'ok', 'small', 'generated', 1");
  await older(
    "example_uses",
    "example_id, arm, model, position, arm_cost, arm_mean",
    "'e6', 'small', 'm', 1, 0.5, 0.6",
  );
  const busy = await readExamples(clickhouse, {});
  expect(busy.countedFrom).toBe(busyFrom);
  expect(busy.rows).toMatchObject([{ id: "e7", uses: 50_000 }]);
});
