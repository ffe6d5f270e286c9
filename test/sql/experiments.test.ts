// Experiments on a real ClickHouse: the views beside a recount in TypeScript, and by simulation
// that the interval holds however often it is looked at. Needs no Kafka.
import { afterAll, beforeAll, expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { aResponse } from "../../gateway/responses.testing.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { decisionOf, recordInto } from "../support/learning.ts";

const now = Date.now();
/** Chances of a reward of 1. */
const worth = { control: 0.6, better: 0.95, same: 0.6 };
type Name = keyof typeof worth;
const names = Object.keys(worth) as Name[];
const users = 240;

let database: MigratedDatabase;
let clickhouse: ClickHouse;
/** Rewards of each user's rated requests. */
const rewards = new Map<string, { variant: Name; values: number[] }>();

beforeAll(async () => {
  database = await startDatabase("experiments_test");
  clickhouse = database.clickhouse;
  const random = splitmix64(5);
  const requests = Array.from({ length: users * 4 }, (_, i) => {
    const user = i % users;
    const variant = names[user % 3]!;
    // Not all users rate; one has no answer that counts.
    const reward = user % 5 === 0 ? null : random() < worth[variant] ? 1 : 0;
    return { id: `q${i}`, user, variant, reward, cost: variant === "better" ? 2 : 1 };
  });
  await recordInto(clickhouse).decisions(
    ...requests.map(({ id, user, variant }) =>
      decisionOf(id, "small", [1], {
        createdAt: now,
        experiment: {
          name: "wording",
          variant,
          isControl: variant === "control",
          probability: 1 / 3,
          unit: `u${user}`,
        },
      }),
    ),
    decisionOf("outside", "small", [1], { createdAt: now }),
    // Under way: not counted yet.
    decisionOf("open", "small", [1], {
      createdAt: now,
      experiment: { name: "wording", variant: "control", isControl: true, probability: 1 / 3, unit: "u-open" },
    }),
  );
  const responses = requests.flatMap(({ id, cost }, offset) =>
    rowsOf
      .responses(aResponse({ requestId: id, tenant: "default", cost, createdAt: now }), {
        ...{ topic: "t.responses", partition: 0, offset, timestamp: now },
      })
      .flatMap(({ table, rows }) => (table === "responses" ? rows : [])),
  );
  await clickhouse.insert("responses", responses);
  const rated = requests.flatMap((one) => (one.reward === null ? [] : [{ ...one, reward: one.reward }]));
  for (const { user, variant, reward } of rated) {
    const unit = rewards.get(`u${user}`) ?? { variant, values: [] };
    unit.values.push(reward);
    rewards.set(`u${user}`, unit);
  }
  await clickhouse.insert(
    "rewards",
    rated.map(({ id, reward }) => ({
      ...{ request_id: id, tenant: "default", reward, weight: 1, counted: 1, received: 1, newest_at: now, version: 1 },
    })),
  );
}, 60_000);
afterAll(() => database.remove());

interface Sums {
  n: number;
  mean: number;
  squares: number;
}
const sumsOf = (values: readonly number[]): Sums => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { n: values.length, mean, squares: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) };
};
/** Half the width of the interval of `variants` variants beside a control; theorem 2.2. */
function reachOf(one: Sums, control: Sums, variants: number): number {
  const scaled = (one.n + control.n) * 0.0176;
  const deviation = Math.sqrt((one.squares + 0.5) / one.n ** 2 + (control.squares + 0.5) / control.n ** 2);
  return deviation * Math.sqrt(((2 * (scaled + 1)) / scaled) * Math.log((Math.sqrt(scaled + 1) * variants) / 0.05));
}

it("compares each variant with the control, by user, as a recount does", async () => {
  const rows = await clickhouse.query<Record<string, unknown>>(
    `SELECT variant, is_control, units, requests, rated_units, reward, cost, difference, low, high, verdict
     FROM experiments WHERE experiment = 'wording'`,
  );
  const means = (name: Name): number[] =>
    [...rewards.values()].filter(({ variant }) => variant === name).map(({ values }) => sumsOf(values).mean);
  const control = sumsOf(means("control"));
  const expected = names.map((name) => {
    const its = sumsOf(means(name));
    const [difference, reach] = [its.mean - control.mean, reachOf(its, control, 2)];
    return {
      ...{ variant: name, is_control: name === "control", units: users / 3, requests: (users * 4) / 3 },
      ...{ rated_units: its.n, reward: expect.closeTo(its.mean, 9), cost: name === "better" ? 2 : 1 },
      ...(name === "control"
        ? { difference: null, low: null, high: null, verdict: "control" }
        : {
            difference: expect.closeTo(difference, 9),
            low: expect.closeTo(difference - reach, 9),
            high: expect.closeTo(difference + reach, 9),
            verdict: name === "better" ? "better" : "open",
          }),
    };
  });
  expect(rows).toEqual(expected);
});

it("has no verdict from a few users", async () => {
  const few = await clickhouse.query<object>("SELECT count() AS n FROM experiment_units WHERE unit = 'u-open'");
  expect(few).toEqual([{ n: 0 }]);
  await recordInto(clickhouse, 3).decisions(
    ...[0, 1].map((i) =>
      decisionOf(`few${i}`, "small", [1], {
        createdAt: now,
        experiment: { name: "few", variant: `v${i}`, isControl: i === 0, probability: 0.5, unit: `f${i}` },
      }),
    ),
  );
  const position = { topic: "t.responses", partition: 1, timestamp: now };
  for (const i of [0, 1])
    for (const { table, rows } of rowsOf.responses(
      aResponse({ requestId: `few${i}`, tenant: "default", createdAt: now }),
      { ...position, offset: i },
    ))
      if (table === "responses") await clickhouse.insert(table, rows);
  const rows = await clickhouse.query<object>(
    "SELECT variant, difference, low, verdict FROM experiments WHERE experiment = 'few'",
  );
  expect(rows).toEqual([
    { variant: "v0", difference: null, low: null, verdict: "control" },
    { variant: "v1", difference: null, low: null, verdict: "too_few" },
  ]);
});

it("compares with the newest control where the configuration has changed", async () => {
  const decisions = [0, 1, 2, 3].map((i) => ({
    id: `changed${i}`,
    createdAt: now + i * 1_000,
    experiment: {
      ...{ name: "changed", variant: `v${i % 2}`, isControl: i === 0 || i === 3 },
      ...{ probability: i < 2 ? 0.5 : 0.25, unit: `c${i % 2}` },
    },
  }));
  await recordInto(clickhouse, 3).decisions(...decisions.map(({ id, ...more }) => decisionOf(id, "small", [1], more)));
  const position = { topic: "t.responses", partition: 2, timestamp: now };
  for (const [offset, { id }] of decisions.entries())
    for (const { table, rows } of rowsOf.responses(aResponse({ requestId: id, tenant: "default", createdAt: now }), {
      ...position,
      offset,
    }))
      if (table === "responses") await clickhouse.insert(table, rows);
  const found = await clickhouse.query<object>(
    "SELECT variant, is_control, probability, units, requests, verdict FROM experiments WHERE experiment = 'changed'",
  );
  const its = { probability: 0.25, units: 1, requests: 2 };
  expect(found).toEqual([
    { variant: "v1", is_control: true, ...its, verdict: "control" },
    { variant: "v0", is_control: false, ...its, verdict: "too_few" },
  ]);
});

it.each([0.5, 0.95, 0.02])(
  "seldom finds a difference that is none, however often it is looked at: chance of a reward %s",
  (p) => {
    const random = splitmix64(11);
    const runs = 400;
    let wrong = 0;
    for (let run = 0; run < runs; run++) {
      const sums = [0, 0];
      for (let n = 1; n <= 2_000; n++) {
        for (const i of [0, 1]) if (random() < p) sums[i]!++;
        if (n < 30 || n % 10 !== 0) continue;
        const [one, other] = sums.map((ones): Sums => ({ n, mean: ones / n, squares: ones * (1 - ones / n) }));
        if (Math.abs(one!.mean - other!.mean) <= reachOf(one!, other!, 1)) continue;
        wrong++;
        break;
      }
    }
    console.log(`${p}: ${wrong} of ${runs} experiments without a difference have a verdict`);
    expect(wrong / runs).toBeLessThanOrEqual(0.05);
  },
);
