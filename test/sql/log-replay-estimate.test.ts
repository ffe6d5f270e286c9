// The estimate of a log replay's report on a real ClickHouse, beside the same sums over values that
// are known because the test made the log and the decisions. Needs no Kafka.
import { afterAll, beforeAll, expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { logRowOf } from "../../analysis/import/log-row.ts";
import { policyReport, type PolicyReport } from "../../analysis/log-replay/report.ts";
import { storeLog } from "../../analysis/log-replay/store.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { decisionOf, recordInto } from "../support/learning.ts";

const count = 400;
const random = splitmix64(5);
const rows = Array.from({ length: count }, (_, i) => {
  const propensity = i === 0 ? 0.001 : 0.1 + 0.8 * random();
  // What the replayed policy gives the logged arm; it does not know the arm of every tenth row.
  const probability = i % 10 === 9 ? 0 : i === 0 ? 0.9 : 0.1 + 0.8 * random();
  return { id: `r${i}`, propensity, probability, reward: random() < 0.6 ? 1 : random() };
});
const weights = rows.map(({ propensity, probability }) => Math.min(100, probability / propensity));

const name = "log_replay_estimate_test";
let database: MigratedDatabase;
beforeAll(async () => {
  database = await startDatabase(name);
  await recordInto(database.clickhouse).decisions(
    ...rows.map(({ id, probability }) => {
      const one = decisionOf(id, probability === 0 ? "unknown" : "small", [1]);
      return {
        ...one,
        arms: one.arms.map((arm, k) => ({ ...arm, probability: k === 0 ? probability : 1 - probability })),
      };
    }),
  );
});
afterAll(() => database.remove());

/** The report on a log with these rewards. */
async function estimated(rewards: readonly number[]): Promise<PolicyReport["estimate"]> {
  const log = rows.map(({ id, propensity }, i) =>
    logRowOf(
      { id, time: 1_790_000_000 + i, request: `q${i}`, arm: "small", answer: "a", reward: rewards[i], propensity },
      { index: i + 1 },
    ),
  );
  const { clickhouse } = database;
  async function* all() {
    yield await Promise.resolve(log);
  }
  await storeLog(clickhouse, all(), { signal: new AbortController().signal, onProgress: () => undefined });
  return (await policyReport({ clickhouse, lane: name, log: name })).estimate;
}

it("is the weighted mean of the rewards, with half its 95 % interval by the delta method", async () => {
  const { value, reach, decisions, effective } = await estimated(rows.map(({ reward }) => reward));
  const sum = (of: (weight: number, reward: number) => number): number =>
    weights.reduce((all, weight, i) => all + of(weight, rows[i]!.reward), 0);
  const [total, squares] = [sum((weight) => weight), sum((weight) => weight ** 2)];
  const mean = sum((weight, reward) => weight * reward) / total;
  const variance = (sum((weight, reward) => (weight * (reward - mean)) ** 2) * count) / (count - 1);
  expect(weights[0]).toBe(100);
  expect(decisions).toBe(count);
  expect(value).toBeCloseTo(mean, 9);
  expect(effective).toBeCloseTo(total ** 2 / squares, 6);
  expect(reach).toBeCloseTo((1.959963984540054 * Math.sqrt(variance)) / total, 9);
});

it("has no interval where all rewards are equal", async () => {
  expect(await estimated(rows.map(() => 0.3))).toMatchObject({ value: expect.closeTo(0.3, 9) as number, reach: null });
});
