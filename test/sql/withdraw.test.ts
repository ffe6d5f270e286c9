// Feedback that does not count for its source, on a real ClickHouse: what is left after a
// withdrawal equals what never saw that feedback; what is above the limits of an hour is marked.
// Needs no Kafka.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FEATURE_COUNT } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createCandidates } from "../../operators/admit/candidates.ts";
import { createAggregate, rewardsTakenBack, type Aggregate } from "../../operators/aggregate/aggregate.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { solve } from "../../operators/solve/solve.ts";
import { routerPrior } from "../../state/policies/prior.ts";
import { encodeRouterBody } from "../../state/policies/router.ts";
import type { Feedback, Withdrawal } from "../../schemas/types.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { decisionOf, feedbackOf, hourMs, recordInto, start } from "../support/learning.ts";

const topics = { feedback: "t.feedback", decisions: "t.decisions", withdrawals: "t.withdrawals" };
const dimension = FEATURE_COUNT;
let database: MigratedDatabase;
let clickhouse: ClickHouse;
let log: ReturnType<typeof recordInto>;
let withdrawals = 0;

beforeAll(async () => {
  database = await startDatabase("withdraw_test");
  clickhouse = database.clickhouse;
});
afterAll(() => database.remove());
const empty = async (...tables: string[]): Promise<void> => {
  for (const table of tables) await clickhouse.command(`TRUNCATE TABLE ${table}`);
};
const learnt = ["rewards", "arm_hours", "learn_positions", "feedback_excess"];
beforeEach(async () => {
  await empty("feedback", "decisions", "requests", "responses", "withdrawals", ...learnt);
  log = recordInto(clickhouse);
  withdrawals = 0;
});

const learner = (limits?: { perSourceHour: number; perAuthorHour: number }): Aggregate =>
  createAggregate({ clickhouse, topics, featureVersion: 1, dimension, ...(limits && { limits }) });

async function withdraw(more: Partial<Withdrawal>): Promise<string> {
  const offset = withdrawals++;
  const record: Withdrawal = {
    ...{ id: `w${offset}`, tenant: null, source: null, author: null, since: null, until: null },
    ...{ restores: null, comment: null, createdAt: start + hourMs, ...more },
  };
  const place = { topic: "t.withdrawals", partition: 0, offset, timestamp: record.createdAt };
  for (const { table, rows } of rowsOf.withdrawals(record, place)) await clickhouse.insert(table, rows);
  return record.id;
}

const status = async (): Promise<Record<string, string>> => {
  const rows = await clickhouse.query<{ id: string; uncounted: string }>(
    "SELECT feedback_id AS id, uncounted FROM feedback_status ORDER BY id",
  );
  return Object.fromEntries(rows.map(({ id, uncounted }) => [id, uncounted]));
};

/** The policy as learn would publish it. */
async function bodyOf(aggregate: Aggregate): Promise<string> {
  const prior = { priorMean: 0.5, priorVariance: 0.25, noiseVariance: 0.1, variances: "estimated" as const };
  const { hierarchy } = routerPrior(prior);
  const solved = solve(await aggregate.statistics(24), { dimension, ...prior, ...(hierarchy && { hierarchy }) });
  return encodeRouterBody(solved);
}

/** All numbers within 1e-9 of each other, everything else equal. */
function expectSame(one: unknown, other: unknown, path = ""): void {
  if (typeof one === "number" && typeof other === "number") {
    expect(Math.abs(one - other) / Math.max(1, Math.abs(other)), path).toBeLessThan(1e-9);
  } else if (typeof one === "object" && one !== null && typeof other === "object" && other !== null) {
    expect(Object.keys(one), path).toEqual(Object.keys(other));
    for (const [key, value] of Object.entries(one))
      expectSame(value, (other as Record<string, unknown>)[key], `${path}/${key}`);
  } else expect(one, path).toEqual(other);
}

/** Honest feedback over three days on both arms, and that of mallory and of one bad day. */
function world(seed: number) {
  const random = splitmix64(seed);
  const ids = Array.from({ length: 150 }, (_, i) => `r${i}`);
  const decisions = ids.map((id, i) =>
    decisionOf(
      id,
      random() < 0.5 ? "small" : "large",
      [1, ...Array.from({ length: dimension - 1 }, () => random() - 0.5)],
      {
        createdAt: start + Math.floor(i / 2) * hourMs,
      },
    ),
  );
  const of = (i: number, more: Partial<Feedback>): Feedback =>
    feedbackOf(`r${i}`, { kind: "reward", value: random(), createdAt: start + Math.floor(i / 2) * hourMs, ...more });
  const honest = ids.flatMap((_, i) => (i % 3 === 0 ? [] : [of(i, { author: "ann" })]));
  // Newer than the honest ones, on the same requests and on others.
  const poison = ids.flatMap((_, i) =>
    i % 2 === 0 ? [of(i, { author: "mallory", value: 0, createdAt: start + Math.floor(i / 2) * hourMs + 60_000 })] : [],
  );
  return { decisions, honest, poison };
}

describe("a withdrawn author", () => {
  it.each([1, 2])("leaves the policy that never saw it, whenever it is withdrawn (%i)", async (seed) => {
    const { decisions, honest, poison } = world(seed);
    await log.decisions(...decisions);
    await log.feedback(...honest);
    const never = learner();
    await never.advance();
    const clean = await bodyOf(never);

    await empty("feedback", ...learnt);
    log = recordInto(clickhouse);
    const aggregate = learner();
    await log.feedback(...honest, ...poison.slice(0, 40));
    await aggregate.advance();
    const poisoned = await bodyOf(aggregate);
    expect(() => expectSame(JSON.parse(poisoned), JSON.parse(clean))).toThrow();
    const id = await withdraw({ author: "mallory" });
    await aggregate.advance();
    expectSame(JSON.parse(await bodyOf(aggregate)), JSON.parse(clean));
    // What comes later of the same author is withdrawn already.
    await log.feedback(...poison.slice(40));
    await aggregate.advance();
    expectSame(JSON.parse(await bodyOf(aggregate)), JSON.parse(clean));
    expect(await aggregate.advance()).toEqual({ rows: 0, buckets: 0, more: false });

    // Computed anew from the tables the numbers are the same; a restored one counts again, whole.
    await empty(...learnt);
    await aggregate.advance();
    expectSame(JSON.parse(await bodyOf(aggregate)), JSON.parse(clean));
    await withdraw({ restores: id });
    await aggregate.advance();
    const restored = await bodyOf(aggregate);
    await empty("withdrawals", ...learnt);
    const all = learner();
    await all.advance();
    expectSame(JSON.parse(restored), JSON.parse(await bodyOf(all)));
  });

  it("is recomputed after a pass that broke off before its position was kept", async () => {
    const { decisions, honest, poison } = world(3);
    await log.decisions(...decisions);
    await log.feedback(...honest, ...poison);
    const aggregate = learner();
    await aggregate.advance();
    await withdraw({ author: "mallory" });
    const failing: typeof clickhouse = { ...clickhouse, insert: () => Promise.reject(new Error("killed here")) };
    const dying = createAggregate({ clickhouse: failing, topics, featureVersion: 1, dimension });
    await expect(dying.advance()).rejects.toThrow("killed here");
    await aggregate.advance();
    const body = await bodyOf(aggregate);
    await empty("withdrawals", "feedback", ...learnt);
    log = recordInto(clickhouse);
    await log.feedback(...honest);
    const never = learner();
    await never.advance();
    expectSame(JSON.parse(body), JSON.parse(await bodyOf(never)));
  });
});

it("a withdrawal is of the source, author, tenant and time that it names, and of no other", async () => {
  await log.feedback(
    feedbackOf("r1", { id: "a", value: 1, author: "bob" }),
    feedbackOf("r2", { id: "b", value: 1, author: "bob", source: "system" }),
    feedbackOf("r3", { id: "c", value: 1, author: "bob", tenant: "other" }),
    feedbackOf("r4", { id: "d", value: 1, author: "bob", createdAt: start - 1 }),
    feedbackOf("r5", { id: "e", value: 1, author: "bob", createdAt: start + 1_000 }),
    feedbackOf("r6", { id: "f", value: 1 }),
    feedbackOf("r7", { id: "g", value: 1 }),
    feedbackOf("r7", { withdraws: "g", id: "h" }),
  );
  const aggregate = learner();
  await aggregate.advance();
  await withdraw({ source: "person", author: "bob", tenant: "default", since: start, until: start + 1_000 });
  await aggregate.advance();
  expect(await status()).toEqual({
    ...{ a: "source_withdrawn", b: "", c: "", d: "", e: "", f: "", g: "withdrawn", h: "" },
  });
  const counted = await clickhouse.query<{ id: string }>(
    "SELECT request_id AS id FROM rewards FINAL WHERE weight > 0 ORDER BY id",
  );
  expect(counted.map(({ id }) => id)).toEqual(["r2", "r3", "r4", "r5", "r6"]);
  expect(await rewardsTakenBack(clickhouse, start)).toBe(true);
  expect(await rewardsTakenBack(clickhouse, Date.now() + hourMs)).toBe(false);
  // Those who said no name are an author, too.
  await withdraw({ author: "" });
  await aggregate.advance();
  expect(await status()).toMatchObject({ f: "source_withdrawn", e: "", b: "" });
  const sources = await clickhouse.query(
    "SELECT tenant, source, author, feedback, source_withdrawn, mean_points FROM feedback_sources ORDER BY ALL",
  );
  expect(sources).toEqual([
    { tenant: "default", source: "person", author: "", feedback: 3, source_withdrawn: 2, mean_points: 1 },
    { tenant: "default", source: "person", author: "bob", feedback: 3, source_withdrawn: 1, mean_points: 1 },
    { tenant: "default", source: "system", author: "bob", feedback: 1, source_withdrawn: 0, mean_points: 1 },
    { tenant: "other", source: "person", author: "bob", feedback: 1, source_withdrawn: 0, mean_points: 1 },
  ]);
});

it("a corrected answer is no candidate once who corrected it is withdrawn: the one before it is", async () => {
  await clickhouse.insert("requests", [
    {
      request_id: "r",
      tenant: "default",
      domain: "default/default",
      created_at: "2026-03-01 12:00:00",
      topic: "t.requests",
    },
  ]);
  await log.feedback(
    feedbackOf("r", { kind: "correction", text: "ls -a", author: "ann" }),
    feedbackOf("r", { kind: "correction", text: "rm -rf /", author: "mallory", createdAt: start + 1 }),
  );
  const aggregate = learner();
  const found = async (): Promise<[string, number | null][]> => {
    const candidates = createCandidates({ clickhouse, observations: "t.observations", limit: 9, overlapMs: 1_000 });
    return (await candidates()).candidates.map(({ text, quality }) => [text, quality]);
  };
  await aggregate.advance();
  expect(await found()).toEqual([["rm -rf /", 1]]);
  await withdraw({ author: "mallory" });
  await aggregate.advance();
  expect(await found()).toEqual([["ls -a", 1]]);
  await withdraw({ source: "person" });
  await aggregate.advance();
  expect(await found()).toEqual([[expect.any(String), null]]);
});

describe("above the limits of an hour", () => {
  const limits = { perSourceHour: 8, perAuthorHour: 3 };
  /** At the given second of the first hour. */
  const at = (id: string, second: number, author: string, more: Partial<Feedback> = {}): Feedback =>
    feedbackOf(`r-${id}`, { id, value: 1, author, createdAt: start + second * 1_000, ...more });
  const over = async (): Promise<string[]> =>
    Object.entries(await status()).flatMap(([id, uncounted]) => (uncounted === "over_limit" ? [id] : []));
  const counted = async (): Promise<number> =>
    (await clickhouse.query<{ n: number }>("SELECT count() AS n FROM rewards FINAL WHERE weight > 0"))[0]!.n;

  it("feedback is kept, marked and not counted: of an author, of a source, of each tenant and hour apart", async () => {
    const aggregate = learner(limits);
    await log.feedback(
      ...[1, 2, 3, 4, 5].map((n) => at(`bob${n}`, n, "bob")),
      at("bob-later", 1, "bob", { createdAt: start + hourMs }),
      at("bob-elsewhere", 1, "bob", { tenant: "other" }),
      at("bob-system", 1, "bob", { source: "system" }),
    );
    await aggregate.advance();
    expect(await over()).toEqual(["bob4", "bob5"]);
    expect(await counted()).toBe(6);
    // Without an author only the source's limit holds, of which bob has three.
    await log.feedback(...[1, 2, 3, 4, 5, 6].map((n) => at(`none${n}`, 10 + n, "")));
    await aggregate.advance();
    expect(await over()).toEqual(["bob4", "bob5", "none6"]);
    expect(await counted()).toBe(11);
    // An earlier one that comes late displaces the last.
    await log.feedback(at("none0", 0, ""));
    await aggregate.advance();
    expect(await over()).toEqual(["bob4", "bob5", "none5", "none6"]);
    expect(await counted()).toBe(11);
    const piecemeal = await clickhouse.query(
      "SELECT request_id, reward, weight FROM rewards FINAL ORDER BY request_id, tenant",
    );
    await empty(...learnt);
    await aggregate.advance();
    expect(await over()).toEqual(["bob4", "bob5", "none5", "none6"]);
    expect(
      await clickhouse.query("SELECT request_id, reward, weight FROM rewards FINAL ORDER BY request_id, tenant"),
    ).toEqual(piecemeal);
  });

  it("what is withdrawn takes no place", async () => {
    const aggregate = learner(limits);
    await log.feedback(
      ...[1, 2, 3].map((n) => at(`bob${n}`, n, "bob")),
      ...[1, 2, 3, 4, 5, 6].map((n) => at(`none${n}`, 10 + n, "")),
    );
    await aggregate.advance();
    expect(await over()).toEqual(["none6"]);
    const id = await withdraw({ author: "bob" });
    await aggregate.advance();
    expect(await over()).toEqual([]);
    expect(await counted()).toBe(6);
    await withdraw({ restores: id });
    await aggregate.advance();
    expect(await over()).toEqual(["none6"]);
    expect(await counted()).toBe(8);
  });

  it("a pass that broke off after marking them is made good", async () => {
    await log.feedback(...[1, 2, 3, 4, 5].map((n) => at(`bob${n}`, n, "bob")));
    const failing: typeof clickhouse = {
      ...clickhouse,
      command: (sql, parameters) =>
        sql.includes("INTO rewards") ? Promise.reject(new Error("killed here")) : clickhouse.command(sql, parameters),
    };
    const dying = createAggregate({ clickhouse: failing, topics, limits, featureVersion: 1, dimension });
    await expect(dying.advance()).rejects.toThrow("killed here");
    await learner(limits).advance();
    expect(await counted()).toBe(3);
  });
});
