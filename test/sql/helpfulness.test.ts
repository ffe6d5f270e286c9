// Training rows, thresholds and example outcomes on a real ClickHouse, beside the same figures
// computed in plain TypeScript. Needs no Kafka.
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createHelpfulnessRows, type HelpfulnessRow } from "../../operators/aggregate/helpfulness-rows.ts";
import { readThresholds } from "../../operators/aggregate/thresholds.ts";
import { readExampleOutcomes } from "../../state/helpfulness/example-outcomes.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { testingRecords } from "../../operators/decode/records.testing.ts";
import type { ArmScore, Decision, ExampleTrial } from "../../schemas/types.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { decisionOf } from "../support/learning.ts";
import { requestOf } from "../support/system.ts";

const now = Date.now();
let database: MigratedDatabase;
let clickhouse: ClickHouse;
let offset = 0;

beforeAll(async () => {
  database = await startDatabase("helpfulness_test");
  clickhouse = database.clickhouse;
});
afterAll(() => database.remove());
beforeEach(async () => {
  for (const table of ["requests", "decisions", "example_uses", "example_trials", "rewards", "responses"])
    await clickhouse.command(`TRUNCATE TABLE ${table}`);
});

interface Served {
  id: string;
  question?: string;
  reward?: number;
  weight?: number;
  arm?: string;
  model?: string;
  mean?: number;
  probability?: number;
  /** Ids of the examples shown; their features are theirs alone. */
  shown?: string[];
  trial?: ExampleTrial | null;
  order?: Pick<ArmScore, "order" | "orderProbability">;
  /** By example; 0.6 by default. */
  helpfulness?: number[];
  more?: Partial<Decision>;
}

const featuresOf = (id: string): number[] => [id.length, id.charCodeAt(0) / 128];
const trialOf = (id: string, shown: boolean, more: Partial<ExampleTrial> = {}): ExampleTrial => ({
  id,
  shown,
  probability: 0.5,
  similarity: 0.5,
  helpfulness: 0.5,
  features: featuresOf(id),
  ...more,
});

/** Puts requests with their decisions and rewards where record and learn would. */
async function serve(...all: Served[]): Promise<void> {
  const tables = new Map<string, object[]>();
  const put = (table: string, rows: readonly object[]): void => {
    tables.set(table, [...(tables.get(table) ?? []), ...rows]);
  };
  for (const one of all) {
    const {
      id,
      question = id,
      arm = "small",
      model = "m",
      mean = 0.5,
      probability = 1,
      shown = [],
      trial = null,
      order = { order: "best_last", orderProbability: 1 },
      helpfulness = [],
    } = one;
    const place = { topic: "t", partition: 0, offset: offset++, timestamp: now };
    const base = decisionOf(id, arm, []);
    const score: ArmScore = {
      arm,
      model,
      cost: 0.1,
      context: [],
      mean,
      deviation: 0.1,
      sampled: mean,
      bias: 0,
      saturation: 0,
      cachedShare: 0,
      probability,
      ...order,
      examples: shown.map((example, i) => ({
        id: example,
        similarity: 0.5,
        helpfulness: helpfulness[i] ?? 0.6,
        tokens: 100 * example.length,
        explored: trial?.id === example,
        cachedBonus: 0,
        features: featuresOf(example),
      })),
      trial,
    };
    const decision: Decision = {
      ...base,
      arms: [score, { ...score, arm: "other", model: "o", examples: [], trial: null }],
      probability,
      policyVersion: 1,
      createdAt: now,
      ...one.more,
    };
    for (const { table, rows } of rowsOf.requests(requestOf(question, { id, createdAt: now }), place)) put(table, rows);
    for (const { table, rows } of rowsOf.decisions(decision, place)) put(table, rows);
    if (one.reward !== undefined)
      put("rewards", [
        {
          request_id: id,
          tenant: "default",
          reward: one.reward,
          weight: one.weight ?? 1,
          counted: 1,
          received: 1,
          newest_at: now + offset,
          version: offset,
        },
      ]);
  }
  for (const [table, rows] of tables) await clickhouse.insert(table, rows);
}

const helpfulnessRows = (limit = 1_000, featureVersion = 1) =>
  createHelpfulnessRows({ clickhouse, featureVersion, featureCount: 2 })(limit);
/** The group is a hash: it only shows which rows share it. */
const sorted = (rows: readonly HelpfulnessRow[]) =>
  rows
    .map(({ features, effect, weight }) => ({ features: features.map((value) => Math.fround(value)), effect, weight }))
    .sort((one, other) => one.effect - other.effect || one.weight - other.weight);
function expectRows(rows: readonly HelpfulnessRow[], direct: readonly Omit<HelpfulnessRow, "group">[]): void {
  const expected = sorted(direct.map((row) => ({ group: "", ...row })));
  expect(rows).toHaveLength(expected.length);
  sorted(rows).forEach((row, i) => {
    expect(row.features).toEqual(expected[i]?.features);
    expect(row.effect).toBeCloseTo(expected[i]?.effect ?? NaN, 9);
    expect(row.weight).toBeCloseTo(expected[i]?.weight ?? NaN, 9);
  });
}

it("a trial gives the transformed outcome around the mean of the other trials, weighted by how rare the arm was", async () => {
  const random = splitmix64(7n);
  const served = Array.from({ length: 60 }, (_, i): Served & { reward: number; trial: ExampleTrial } => {
    const shown = random() < 0.5;
    return {
      id: `r${i}`,
      reward: random(),
      weight: i % 7 === 0 ? 0.3 : 1.3,
      arm: i % 3 === 0 ? "small" : "large",
      probability: i % 5 === 0 ? 0.01 : 0.4,
      shown: shown ? ["tried"] : [],
      trial: trialOf("tried", shown, { probability: i % 2 === 0 ? 0.5 : 0.3 }),
    };
  });
  await serve(...served, { id: "unrated", trial: trialOf("tried", true), shown: ["tried"] });
  const { rows, kinds, trainedThrough } = await helpfulnessRows();
  expect(kinds).toEqual({ trial: 60, direct: 0, observed: 0 });
  expect(trainedThrough).toBeGreaterThanOrEqual(now);
  expectRows(
    rows,
    served.map(({ arm, reward, weight = 1, probability = 1, trial }, i) => {
      const others = served.flatMap((one, k) => (k !== i && one.arm === arm ? [one.reward] : []));
      const expected = (others.reduce((sum, one) => sum + one, 0) + 0.5) / (others.length + 1);
      const p = trial.probability;
      return {
        features: featuresOf("tried").map(Math.fround),
        effect: ((reward - expected) * (Number(trial.shown) - p)) / (p * (1 - p)),
        weight: Math.min(weight, 1) * Math.min(1 / probability, 10),
      };
    }),
  );
});

it("the estimate of a trial is right on average although routing and the router's prediction know what was shown", async () => {
  // Shown, the small arm is worth 0.3 more on easy questions and is taken far oftener; on hard ones
  // the example does nothing.
  const random = splitmix64(11n);
  const effects = { easy: 0.3, hard: 0 };
  const served = Array.from({ length: 6_000 }, (_, i): Served => {
    const easy = random() < 0.5;
    const shown = random() < 0.5;
    const probability = shown && easy ? 0.8 : 0.2;
    const small = random() < probability;
    const reward = small ? (easy ? 0.5 : 0.4) + (shown ? effects[easy ? "easy" : "hard"] : 0) : 0.9;
    const example = easy ? "easy" : "hard!";
    return {
      id: `r${i}`,
      reward: Math.min(1, Math.max(0, reward + (random() - 0.5) / 5)),
      arm: small ? "small" : "large",
      probability: small ? probability : 1 - probability,
      mean: shown ? 0.8 : 0.5,
      trial: trialOf(example, shown),
    };
  });
  await serve(...served.filter(({ arm }) => arm === "small"));
  const { rows } = await helpfulnessRows(10_000);
  const mean = (length: number): number => {
    const own = rows.filter(({ features }) => features[0] === length);
    return own.reduce((sum, row) => sum + row.weight * row.effect, 0) / own.reduce((sum, row) => sum + row.weight, 0);
  };
  // Their standard error is about 0.02.
  expect(Math.abs(mean("easy".length) - effects.easy)).toBeLessThan(0.08);
  expect(Math.abs(mean("hard!".length) - effects.hard)).toBeLessThan(0.08);
});

it("the same conversation with and without an example is compared directly; what was merely shown weighs little", async () => {
  await serve(
    { id: "with", question: "q", reward: 0.9, mean: 0.7, shown: ["a", "bb"] },
    { id: "without", question: "q", reward: 0.4, mean: 0.6, shown: ["bb"] },
    { id: "again", question: "q", reward: 0.6, mean: 0.6, shown: ["bb"] },
    // Nothing to compare with: another question, another arm.
    { id: "else", question: "p", reward: 1, mean: 0.5, shown: ["a", "bb"] },
    { id: "large", question: "q", reward: 0, mean: 0.5, arm: "large", shown: [] },
    // The prior's prediction is no expectation.
    { id: "early", question: "early", reward: 1, shown: ["a"], more: { policyVersion: 0 } },
  );
  const { rows, kinds } = await helpfulnessRows();
  expect(kinds).toEqual({ trial: 0, direct: 1, observed: 6 });
  const [a, b] = [featuresOf("a"), featuresOf("bb")].map((features) => features.map(Math.fround));
  if (a === undefined || b === undefined) throw new Error("no features");
  const observed = (features: number[], effect: number, shown: number) => ({ features, effect, weight: 0.05 / shown });
  expectRows(rows, [
    { features: a, effect: 0.9 - 0.5, weight: 2 },
    observed(a, 0.2, 2),
    observed(b, 0.2, 2),
    observed(b, -0.2, 1),
    observed(b, 0, 1),
    observed(a, 0.5, 2),
    observed(b, 0.5, 2),
  ]);
  const groups = new Set(rows.map(({ group }) => group));
  expect(groups.size).toBe(2);
});

it("takes the newest of the best evidence, one layout of features, and lets a former model count less", async () => {
  await serve(
    { id: "old", reward: 1, model: "m1", shown: ["t"], trial: trialOf("t", true), more: { createdAt: now - 5_000 } },
    { id: "new", reward: 0, model: "m2", trial: trialOf("t", false) },
    { id: "used", reward: 0.5, model: "m2", mean: 0.25, shown: ["u"] },
    { id: "other", reward: 1, model: "m2", shown: ["u"], trial: trialOf("t", true), more: { helpfulnessFeatures: 2 } },
    { id: "short", reward: 1, model: "m2", trial: trialOf("t", true, { features: [1] }) },
    { id: "withdrawn", reward: 1, weight: 0, model: "m2", trial: trialOf("t", true) },
  );
  const { rows, kinds } = await helpfulnessRows();
  expect(kinds).toEqual({ trial: 2, direct: 0, observed: 1 });
  // Each model has one trial: the expectation is the imaginary one.
  expect(rows.map(({ effect, weight }) => [effect, weight])).toEqual([
    [1, 1],
    [1, 0.25],
    [0.25, 0.05],
  ]);
  expect((await helpfulnessRows(1)).rows).toEqual(rows.slice(0, 1));
  expect((await helpfulnessRows(1_000, 2)).kinds).toEqual({ trial: 1, direct: 0, observed: 1 });
  expect((await helpfulnessRows(1_000, 3)).rows).toEqual([]);
});

it("thresholds give the moments of reward and tokens for each tau, of requests with a learnt helpfulness model only", async () => {
  const random = splitmix64(3n);
  const served = Array.from({ length: 200 }, (_, i): Served & { reward: number; shown: string[]; tau: number } => {
    const explored = i % 4 === 0;
    const tau = explored ? 0.4 + 0.1 * (i % 3) : 0.5;
    return {
      id: `r${i}`,
      tau: Number(tau.toFixed(6)),
      reward: random(),
      shown: i % 2 === 0 ? ["a", "bbb"] : ["cc"],
      more: { helpfulnessVersion: 3, threshold: 0.5, exploredThreshold: explored ? tau : null },
    };
  });
  await serve(
    ...served,
    { id: "no helpfulness model", reward: 1, more: { exploredThreshold: 0.9 } },
    // An earlier turn chose these, whatever is in force now.
    {
      id: "kept",
      reward: 1,
      shown: ["a"],
      order: { order: "kept", orderProbability: 1 },
      more: { helpfulnessVersion: 3, threshold: 0.5 },
    },
    { id: "old", reward: 1, more: { helpfulnessVersion: 3, threshold: 0.9, createdAt: now - 400 * 3_600_000 } },
    { id: "unrated", more: { helpfulnessVersion: 3, threshold: 0.9 } },
  );
  const found = await readThresholds(clickhouse);
  expect(found.map(({ tau }) => tau)).toEqual([0.4, 0.5, 0.6]);
  for (const outcome of found) {
    const own = served.filter(({ tau }) => tau === outcome.tau);
    const mean = (of: (one: (typeof own)[number]) => number): number =>
      own.reduce((sum, one) => sum + of(one), 0) / own.length;
    const tokens = ({ shown }: { shown: string[] }): number => shown.reduce((sum, id) => sum + 100 * id.length, 0);
    const reward = mean((one) => one.reward);
    const length = mean(tokens);
    expect(outcome.requests).toBe(own.length);
    expect(outcome.meanReward).toBeCloseTo(reward, 9);
    expect(outcome.meanTokens).toBeCloseTo(length, 9);
    expect(outcome.rewardVariance).toBeCloseTo(
      mean((one) => (one.reward - reward) ** 2),
      9,
    );
    expect(outcome.tokensVariance).toBeCloseTo(
      mean((one) => (tokens(one) - length) ** 2),
      6,
    );
    expect(outcome.covariance).toBeCloseTo(
      mean((one) => (one.reward - reward) * (tokens(one) - length)),
      6,
    );
  }
});

it("outcomes of the most used examples", async () => {
  await serve(
    { id: "r1", reward: 1, shown: ["a", "b"] },
    { id: "r2", reward: 0.5, shown: ["a"] },
    { id: "r3", shown: ["a", "c"] },
    { id: "r4", reward: 0, weight: 0, shown: ["a"] },
  );
  expect(await readExampleOutcomes(clickhouse, 10)).toEqual(
    new Map([
      ["a", { uses: 2, outcome: 0.75 }],
      ["b", { uses: 1, outcome: 1 }],
    ]),
  );
  expect([...(await readExampleOutcomes(clickhouse, 1)).keys()]).toEqual(["a"]);
});

it("what an example gained with a model that the arm has no more counts a quarter, where another arm answered nothing", async () => {
  const answered = { topic: "t", partition: 0, timestamp: now };
  await serve(
    { id: "before", reward: 0.5, model: "m1", shown: ["a"], more: { createdAt: now - 60_000 } },
    { id: "after", reward: 0.5, model: "m2", shown: ["a"] },
    { id: "elsewhere", reward: 0.5, arm: "large", model: "m1", shown: ["b"] },
    { id: "taken", reward: 0.5, model: "m2", shown: ["a"] },
  );
  const failed = { arm: "small", code: "endpoint_refused", message: "", attempts: 1, cost: 0, billed: 0, ms: 0 };
  const responses = ["before", "after", "elsewhere", "taken"].flatMap((requestId, i) =>
    rowsOf
      .responses(
        {
          ...testingRecords.responses,
          ...{ requestId, tenant: "default", createdAt: now, failedArms: requestId === "taken" ? [failed] : [] },
        },
        { ...answered, offset: i },
      )
      .flatMap(({ rows }) => rows),
  );
  await clickhouse.insert("responses", responses);
  const rows = await clickhouse.query<{ request_id: string; gain: number; aged: boolean }>(
    "SELECT request_id, gain, aged FROM example_use_quality ORDER BY request_id",
  );
  expect(rows).toEqual([
    { request_id: "after", gain: 0.05, aged: false },
    { request_id: "before", gain: 0.0125, aged: true },
    { request_id: "elsewhere", gain: 0.05, aged: false },
  ]);
});

it("compares orders of examples by what their chances undo, and counts uses in steps", async () => {
  const random = { order: "random", orderProbability: 0.1 };
  const shared = { order: "shared_prefix", orderProbability: 0.9 };
  const shown = ["e1", "e22", "e333"];
  await serve(
    ...Array.from({ length: 8 }, (_, i): Served => ({
      id: `s${i}`,
      shown,
      order: shared,
      helpfulness: [3, 2, 1],
      reward: 0.5,
    })),
    { id: "r1", shown, order: random, helpfulness: [1, 2, 3], reward: 1 },
    // One of two: the chance that the best is last is larger, and its weight smaller.
    { id: "r2", shown: ["e1", "e22"], order: random, helpfulness: [1, 2], reward: 0 },
    { id: "r3", shown, order: random, helpfulness: [1, 3, 2], reward: 0.25 },
    { id: "alone", shown: ["e1"], order: random, reward: 1 },
    { id: "unrated", shown, order: random },
  );
  const orders = await clickhouse.query<{
    name: string;
    last: boolean;
    requests: number;
    reward: number;
    error: number;
  }>(
    `SELECT example_order AS name, best_is_last AS last, requests, mean_reward AS reward, error
     FROM example_orders WHERE arm = 'small' ORDER BY name, last`,
  );
  expect(orders.map(({ name, last, requests, reward }) => [name, last, requests, Number(reward.toFixed(6))])).toEqual([
    ["random", false, 1, 0.25],
    // (3 x 1 + 2 x 0) / 5.
    ["random", true, 2, 0.6],
    ["shared_prefix", false, 8, 0.5],
  ]);
  expect(orders[2]?.error).toBeCloseTo(0, 6);
});
