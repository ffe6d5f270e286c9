// rewards and arm_hours on a real ClickHouse: every way feedback can come, and that recomputing
// piecemeal equals computing anew. Needs no Kafka.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyStatistics, observe } from "../../algorithms/routing/bandit.ts";
import { solveHierarchy } from "../../algorithms/routing/hierarchy.ts";
import { estimateVariances } from "../../algorithms/routing/variances.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createAggregate, type Aggregate } from "../../operators/aggregate/aggregate.ts";
import { solve } from "../../operators/solve/solve.ts";
import type { Decision, Feedback } from "../../schemas/types.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { decisionOf, directPosteriors, feedbackOf, hourMs, recordInto, rewardOf, start } from "../support/learning.ts";

const dimension = 3;
const topics = { feedback: "t.feedback", decisions: "t.decisions" };
let database: MigratedDatabase;
let clickhouse: ClickHouse;
let aggregate: Aggregate;
let log: ReturnType<typeof recordInto>;

beforeAll(async () => {
  database = await startDatabase("learning_test");
  clickhouse = database.clickhouse;
});
afterAll(() => database.remove());
beforeEach(async () => {
  await empty("feedback", "decisions", "requests", "rewards", "arm_hours", "domain_arm_hours", "learn_positions");
  aggregate = createAggregate({ clickhouse, topics, featureVersion: 1, dimension });
  log = recordInto(clickhouse);
});

const empty = async (...tables: string[]): Promise<void> => {
  for (const table of tables) await clickhouse.command(`TRUNCATE TABLE ${table}`);
};

interface RewardRow {
  request_id: string;
  reward: number;
  weight: number;
  counted: number;
  received: number;
}
const rewards = async (): Promise<Record<string, Omit<RewardRow, "request_id">>> => {
  const rows = await clickhouse.query<RewardRow>(
    "SELECT request_id, reward, weight, counted, received FROM rewards FINAL ORDER BY request_id",
  );
  return Object.fromEntries(rows.map(({ request_id, ...row }) => [request_id, row]));
};

describe("the reward of a request", () => {
  it.each<[string, Partial<Feedback>[], { reward: number; weight: number; counted: number }]>([
    ["thumbs up", [{ value: 1 }], { reward: 1, weight: 1, counted: 1 }],
    ["thumbs down", [{ value: -1 }], { reward: 0, weight: 1, counted: 1 }],
    ["a neutral thumb", [{ value: 0 }], { reward: 0.5, weight: 1, counted: 1 }],
    ["a score", [{ kind: "score", value: 4, range: { low: 1, high: 5 } }], { reward: 0.75, weight: 1, counted: 1 }],
    [
      "a score whose best end is the lower number",
      [{ kind: "score", value: 2, range: { low: 6, high: 1 } }],
      { reward: 0.8, weight: 1, counted: 1 },
    ],
    ["a score without a range", [{ kind: "score", value: 4 }], { reward: 0, weight: 0, counted: 0 }],
    [
      "a score of an empty range",
      [{ kind: "score", value: 4, range: { low: 4, high: 4 } }],
      { reward: 0, weight: 0, counted: 0 },
    ],
    [
      "a score out of its range",
      [{ kind: "score", value: 9, range: { low: 1, high: 5 } }],
      { reward: 1, weight: 1, counted: 1 },
    ],
    ["a reward", [{ kind: "reward", value: 0.3 }], { reward: 0.3, weight: 1, counted: 1 }],
    ["a reward beyond 1", [{ kind: "reward", value: 7 }], { reward: 1, weight: 1, counted: 1 }],
    ["a reward below 0", [{ kind: "reward", value: -2 }], { reward: 0, weight: 1, counted: 1 }],
    ["a reward that is no number", [{ kind: "reward", value: Number.NaN }], { reward: 0, weight: 0, counted: 0 }],
    ["an infinite reward", [{ kind: "reward", value: Infinity }], { reward: 0, weight: 0, counted: 0 }],
    ["a correction", [{ kind: "correction", text: "so" }], { reward: 0, weight: 1, counted: 1 }],
    ["a preference", [{ kind: "preference", value: 1, against: "large" }], { reward: 0, weight: 0, counted: 0 }],
    ["a comparison", [{ kind: "comparison", value: 3, against: "large" }], { reward: 0, weight: 0, counted: 0 }],
    ["a judge", [{ kind: "reward", value: 0.9, source: "judge" }], { reward: 0.9, weight: 0.3, counted: 1 }],
    [
      "a person and a judge",
      [{ value: 1 }, { kind: "reward", value: 0, source: "judge" }],
      { reward: 1 / 1.3, weight: 1.3, counted: 2 },
    ],
    [
      "two kinds of one person",
      [{ value: 1 }, { kind: "correction", text: "so" }],
      { reward: 0.5, weight: 2, counted: 2 },
    ],
    [
      "an author who changes their mind",
      [{ value: 1 }, { value: -1, createdAt: start + 1 }],
      { reward: 0, weight: 1, counted: 1 },
    ],
    [
      "an older opinion that comes later",
      [{ value: 1 }, { value: -1, createdAt: start - 60_000 }],
      { reward: 1, weight: 1, counted: 1 },
    ],
    [
      "two opinions of the same moment: the later in the log",
      [{ value: 1 }, { value: -1 }],
      { reward: 0, weight: 1, counted: 1 },
    ],
    [
      "a withdrawal that falls back to the opinion before",
      [{ value: 1 }, { id: "w1", value: -1, createdAt: start + 1 }, { withdraws: "w1", createdAt: start + 2 }],
      { reward: 1, weight: 1, counted: 1 },
    ],
    [
      "a withdrawal that comes before what it withdraws",
      [{ withdraws: "w2" }, { id: "w2", value: -1 }],
      { reward: 0, weight: 0, counted: 0 },
    ],
    [
      "a withdrawal that is itself an opinion",
      [
        { id: "w3", value: -1 },
        { withdraws: "w3", value: 1, createdAt: start - 1 },
      ],
      { reward: 1, weight: 1, counted: 1 },
    ],
    [
      "a withdrawn withdrawal, which gives nothing back",
      [{ id: "w4", value: 1 }, { id: "w5", withdraws: "w4" }, { withdraws: "w5" }],
      { reward: 0, weight: 0, counted: 0 },
    ],
    [
      "the same feedback twice",
      [
        { id: "twice", value: 1 },
        { id: "twice", value: 1 },
      ],
      { reward: 1, weight: 1, counted: 1 },
    ],
    [
      "an outcome of a session of four",
      [{ kind: "reward", value: 0.8, session: "s", sessionRequests: 4 }],
      { reward: 0.8, weight: 0.25, counted: 1 },
    ],
    [
      "an older outcome of a session, when it had fewer requests",
      [
        { value: 1, session: "s", sessionRequests: 4, createdAt: start + 1 },
        { value: -1, session: "s", sessionRequests: 2 },
      ],
      { reward: 1, weight: 0.25, counted: 1 },
    ],
    [
      "an outcome of a session beside a rating of the request",
      [{ value: -1 }, { value: 1, session: "s", sessionRequests: 4, createdAt: start + 1 }],
      { reward: 0.2, weight: 1.25, counted: 2 },
    ],
    [
      "an outcome of a session that is withdrawn",
      [{ id: "s1", value: 1, session: "s", sessionRequests: 4 }, { withdraws: "s1" }],
      { reward: 0, weight: 0, counted: 0 },
    ],
    [
      "an outcome of a session of one request",
      [{ value: 1, session: "s", sessionRequests: 1 }],
      { reward: 1, weight: 1, counted: 1 },
    ],
  ])("%s", async (_name, feedback, expected) => {
    await log.feedback(...feedback.map((one) => feedbackOf("r", one)));
    await aggregate.advance();
    const row = (await rewards()).r;
    expect(row).toMatchObject({ weight: expected.weight, counted: expected.counted });
    expect(row?.reward).toBeCloseTo(expected.reward, 14);
  });

  it("rests on its own request and tenant only", async () => {
    await log.feedback(
      feedbackOf("r", { id: "same", value: 1 }),
      feedbackOf("r2", { withdraws: "same" }),
      feedbackOf("r", { id: "same", tenant: "other", value: -1 }),
    );
    await aggregate.advance();
    const rows = await clickhouse.query(
      "SELECT tenant, reward, weight FROM rewards FINAL WHERE request_id = 'r' ORDER BY tenant",
    );
    expect(rows).toEqual([
      { tenant: "default", reward: 1, weight: 1 },
      { tenant: "other", reward: 0, weight: 1 },
    ]);
  });

  it("stands in outcomes once it counts", async () => {
    await clickhouse.insert("requests", [
      { request_id: "liked", tenant: "default", created_at: "2026-03-01 12:00:00", topic: "t.requests" },
      { request_id: "unknown", tenant: "default", created_at: "2026-03-01 12:00:00", topic: "t.requests" },
      { request_id: "taken-back", tenant: "default", created_at: "2026-03-01 12:00:00", topic: "t.requests" },
    ]);
    await log.feedback(
      feedbackOf("liked", { value: 1 }),
      feedbackOf("taken-back", { id: "gone", value: 1 }),
      feedbackOf("taken-back", { withdraws: "gone" }),
    );
    await aggregate.advance();
    expect(
      await clickhouse.query("SELECT request_id, reward, reward_weight, feedback FROM outcomes ORDER BY request_id"),
    ).toEqual([
      { request_id: "liked", reward: 1, reward_weight: 1, feedback: 1 },
      { request_id: "taken-back", reward: null, reward_weight: 0, feedback: 2 },
      { request_id: "unknown", reward: null, reward_weight: 0, feedback: 0 },
    ]);
  });
});

interface HourRow {
  arm: string;
  a: number[];
  b: number[];
  weight: number;
  rewards: number;
}
const armHours = () =>
  clickhouse.query<HourRow>(
    "SELECT arm, model, hour, a, b, weight, rewards FROM arm_hours FINAL ORDER BY arm, model, hour",
  );

describe("the statistics of an arm and hour", () => {
  it("are the weighted sums over its rewarded decisions", async () => {
    await log.decisions(decisionOf("r1", "small", [1, 2, 0]), decisionOf("r2", "small", [1, 0, -1]));
    await log.feedback(
      feedbackOf("r1", { kind: "reward", value: 0.5 }),
      feedbackOf("r2", { kind: "reward", value: 1, source: "judge" }),
    );
    expect(await aggregate.advance()).toEqual({ rows: 4, buckets: 1, more: false });
    const [row] = await armHours();
    expect(row).toMatchObject({ arm: "small", rewards: 2, weight: 1.3 });
    expect(row?.a).toEqual([1.3, 2, 4, -0.3, 0, 0.3]);
    expect(row?.b).toEqual([0.8, 1, -0.3]);
    expect(await aggregate.advance()).toEqual({ rows: 0, buckets: 0, more: false });
  });

  it("take feedback that comes before its decision, whenever that comes", async () => {
    await log.feedback(feedbackOf("r1", { value: 1 }));
    expect(await aggregate.advance()).toMatchObject({ rows: 1, buckets: 0 });
    expect((await rewards()).r1).toMatchObject({ reward: 1, received: 1 });
    await log.decisions(decisionOf("r1", "small", [1, 0, 0]), decisionOf("r2", "small", [1, 1, 1]));
    expect(await aggregate.advance()).toMatchObject({ rows: 2, buckets: 1 });
    expect(await armHours()).toMatchObject([{ weight: 1, rewards: 1, b: [1, 0, 0] }]);
  });

  it("become zeros when everything in them is withdrawn", async () => {
    await log.decisions(decisionOf("r1", "small", [1, 0, 0]));
    await log.feedback(feedbackOf("r1", { id: "regretted", value: 1 }));
    await aggregate.advance();
    await log.feedback(feedbackOf("r1", { withdraws: "regretted" }));
    await aggregate.advance();
    expect(await armHours()).toMatchObject([{ a: [], b: [], weight: 0, rewards: 0 }]);
    expect(await aggregate.statistics(168)).toEqual([]);
  });

  it("leave out decisions without a usable context, of another layout, and duplicates", async () => {
    await log.decisions(
      decisionOf("empty", "small", []),
      decisionOf("short", "small", [1, 2]),
      decisionOf("broken", "small", [1, Number.NaN, 0]),
      decisionOf("layout", "small", [1, 0, 0], { featureVersion: 2 }),
      decisionOf("good", "small", [1, 0, 0]),
      decisionOf("good", "large", [1, 1, 1]),
    );
    await log.feedback(...["empty", "short", "broken", "layout", "good"].map((id) => feedbackOf(id, { value: 1 })));
    await aggregate.advance();
    expect(await aggregate.statistics(168)).toMatchObject([{ arm: "small", count: 1, a: [1, 0, 0, 0, 0, 0] }]);
  });

  it("forget by half a half-life", async () => {
    await log.decisions(
      decisionOf("old", "small", [1, 0, 0], { createdAt: start - 10 * hourMs }),
      decisionOf("new", "large", [1, 0, 0]),
    );
    await log.feedback(feedbackOf("old", { value: 1 }), feedbackOf("new", { value: 1 }));
    await aggregate.advance();
    const [large, small] = await aggregate.statistics(5);
    expect(small).toMatchObject({ arm: "small", weight: 0.25, count: 1 });
    expect(large).toMatchObject({ arm: "large", weight: 1, newestAt: start });
  });

  it("survive a pass that breaks off before its position is kept", async () => {
    await log.decisions(decisionOf("r1", "small", [1, 0, 0]));
    await log.feedback(feedbackOf("r1", { value: 1 }));
    const failing: typeof clickhouse = { ...clickhouse, insert: () => Promise.reject(new Error("killed here")) };
    const dying = createAggregate({ clickhouse: failing, topics, featureVersion: 1, dimension });
    await expect(dying.advance()).rejects.toThrow("killed here");
    const before = await armHours();
    expect(await aggregate.advance()).toMatchObject({ rows: 2, buckets: 1 });
    expect(await armHours()).toEqual(before);
  });

  it("say when there is more than one pass takes, and get there", async () => {
    const small = createAggregate({ clickhouse, topics, featureVersion: 1, dimension, maxRows: 4 });
    const ids = Array.from({ length: 30 }, (_, i) => `r${i}`);
    await log.feedback(...ids.map((id) => feedbackOf(id, { value: 1 })));
    await log.decisions(...ids.map((id) => decisionOf(id, "small", [1, 0, 0])));
    let passes = 1;
    while ((await small.advance()).more) passes++;
    expect(passes).toBeGreaterThan(2);
    expect(await small.statistics(168)).toMatchObject([{ count: 30, weight: 30 }]);
  });
});

describe("the sums by sharing domain", () => {
  const half = 168;
  const byDomain = (mostDomains: number): Aggregate =>
    createAggregate({ clickhouse, topics, featureVersion: 1, dimension, mostDomains });
  const of = (domain: string, sums: object) => ({ domain, arm: "small", model: "small-model", ...sums });

  it("are those of the arm, taken apart, of the domains with the most rewards; none where none are wanted", async () => {
    await log.decisions(
      decisionOf("r1", "small", [1, 2, 0], { domain: "t/one" }),
      decisionOf("r2", "small", [1, 0, -1], { domain: "t/two" }),
      decisionOf("r3", "small", [1, 1, 0], { domain: "t/one", createdAt: start - half * hourMs }),
      decisionOf("r4", "small", [1, 1, 1], { domain: "t/none" }),
    );
    await log.feedback(
      feedbackOf("r1", { kind: "reward", value: 0.5 }),
      feedbackOf("r2", { kind: "reward", value: 1, source: "judge" }),
      feedbackOf("r3", { kind: "reward", value: 1 }),
    );
    const two = byDomain(2);
    expect(await two.advance()).toMatchObject({ buckets: 2 });
    const one = of("t/one", { x: [1.5, 2.5, 0], weight: 1.5, rewardSum: 1 });
    expect(await two.domains(half)).toEqual([one, of("t/two", { x: [0.3, 0, -0.3], weight: 0.3, rewardSum: 0.3 })]);
    expect(await byDomain(1).domains(half)).toEqual([one]);
    expect(await aggregate.domains(half)).toEqual([]);
  });

  it("have nothing left of what is withdrawn, and keep the rest of its hour", async () => {
    await log.decisions(
      decisionOf("r1", "small", [1, 0, 0], { domain: "t/one" }),
      decisionOf("r2", "small", [1, 0, 0], { domain: "t/two" }),
    );
    await log.feedback(feedbackOf("r1", { id: "regretted", value: 1 }), feedbackOf("r2", { value: 1 }));
    const all = byDomain(9);
    await all.advance();
    expect(await all.domains(half)).toHaveLength(2);
    await log.feedback(feedbackOf("r1", { withdraws: "regretted" }));
    await all.advance();
    expect(await all.domains(half)).toEqual([of("t/two", { x: [1, 0, 0], weight: 1, rewardSum: 1 })]);
  });
});

const prior = { mean: 0.5, variance: 0.25, noise: 0.1 };

/**
 * Random feedback of every kind on random requests, decisions before and after it, repeats and
 * withdrawals, in random portions.
 */
function randomLog(seed: number) {
  const random = splitmix64(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const requests = Array.from({ length: 40 }, (_, i) => `s${seed}-${i}`);
  const decisions = requests.map((id) =>
    decisionOf(id, pick(["small", "large", "third"]), [1, random() * 2 - 1, random() * 1e3], {
      createdAt: start + Math.floor(random() * 60) * hourMs,
    }),
  );
  const feedback: Feedback[] = [];
  for (let i = 0; i < 150; i++) {
    const kind = pick(["thumbs", "score", "reward", "correction", "preference", "comparison"] as const);
    const value = pick([-1, 0, 1, 0.25, 3, Number.NaN, null, random() * 4 - 1]);
    const more: Partial<Feedback> = {
      id: `s${seed}-f${i}`,
      kind,
      value,
      range: pick([null, { low: 0, high: 5 }, { low: 1, high: 1 }, { low: 7, high: 1 }]),
      source: pick(["person", "judge", "system"] as const),
      withdraws: random() < 0.2 ? `s${seed}-f${Math.floor(random() * 150)}` : null,
      createdAt: start + Math.floor(random() * 20) * 1_000,
    };
    const repeated = random() < 0.15 ? feedback.at(Math.floor(random() * feedback.length)) : undefined;
    feedback.push(repeated ?? feedbackOf(pick(requests), more));
  }
  return { random, decisions, feedback };
}

/** npm run soak takes more of them. */
const randomLogs = process.env.PRECEDENT_FULL_COUNTS === undefined ? [1] : [1, 2, 3];

it.each(randomLogs)("piecemeal equals anew equals computed by hand, random log %i", async (seed) => {
  const { random, decisions, feedback } = randomLog(seed);
  const waiting: [Decision[], Feedback[]] = [[...decisions], [...feedback]];
  while (waiting[0].length + waiting[1].length > 0) {
    const some = waiting[0].splice(0, Math.floor(random() * 12));
    if (some.length > 0) await log.decisions(...some);
    const opinions = waiting[1].splice(0, Math.floor(random() * 40));
    if (opinions.length > 0) await log.feedback(...opinions);
    await aggregate.advance();
  }
  const kept = await rewards();
  for (const { requestId } of decisions) {
    const expected = rewardOf(feedback.filter((one) => one.requestId === requestId));
    expect(kept[requestId]?.weight ?? 0).toBeCloseTo(expected.weight, 12);
    expect(kept[requestId]?.reward ?? 0).toBeCloseTo(expected.reward, 12);
  }
  const halfLifeHours = 24;
  const incremental = await aggregate.statistics(halfLifeHours);
  await empty("rewards", "arm_hours", "learn_positions");
  await aggregate.advance();
  const rebuilt = await aggregate.statistics(halfLifeHours);
  expect(rebuilt.map(({ arm, count }) => [arm, count])).toEqual(incremental.map(({ arm, count }) => [arm, count]));
  rebuilt.forEach(({ a, b }, i) => {
    a.forEach((value, j) => expect(relative(value, incremental[i]?.a[j])).toBeLessThan(1e-9));
    b.forEach((value, j) => expect(relative(value, incremental[i]?.b[j])).toBeLessThan(1e-9));
  });

  const config = { dimension, priorMean: prior.mean, priorVariance: prior.variance, noiseVariance: prior.noise };
  const posterior = solve(incremental, config).arms;
  const direct = directPosteriors(decisions, feedback, { dimension, halfLifeHours, prior });
  expect([...posterior.keys()]).toEqual([...direct.keys()].sort());
  for (const [arm, { mean, count }] of direct) {
    expect(relative(posterior.get(arm)?.count ?? 0, count)).toBeLessThan(1e-9);
    Array.from(mean).forEach((value, j) => expect(relative(posterior.get(arm)?.mean[j], value)).toBeLessThan(1e-9));
  }
});

it("starts warm: the first policy of a log equals the one fitted on the same rows in memory, variances and all", async () => {
  const random = splitmix64(17);
  const rows = Array.from({ length: 120 }, (_, i) => {
    const arm = random() < 0.5 ? "small" : "large";
    const x = [1, random() - 0.5, random() - 0.5];
    return {
      id: `warm${i}`,
      arm,
      x,
      reward: Math.min(1, Math.max(0, (arm === "small" ? 0.4 : 0.7) + x[1]! * 0.5 + 0.2 * (random() - 0.5))),
    };
  });
  const decisions = rows.map(({ id, arm, x }) => decisionOf(id, arm, x));
  await log.decisions(...decisions);
  await log.feedback(
    ...rows.map(({ id, reward }) => feedbackOf(id, { kind: "reward", value: reward, source: "system" })),
  );
  await aggregate.advance();
  const hierarchy = {
    mean: [0.5, 0, 0],
    groups: [0, 1, 1],
    variances: { shared: [0.1, 0.02], own: [0.1, 0.02], noise: 0.1 },
  };
  const config = { dimension, priorMean: 0.5, priorVariance: 0.2, noiseVariance: 0.1, hierarchy };
  const fromLog = solve(await aggregate.statistics(24), config);

  const arms = ["large", "small"].map((arm) => {
    const sums = { ...emptyStatistics(dimension), weight: 0, squares: 0 };
    for (const { x, reward } of rows.filter((row) => row.arm === arm)) {
      observe(sums, x, reward);
      sums.weight++;
      sums.squares += reward * reward;
    }
    return sums;
  });
  const variances = estimateVariances(arms, hierarchy);
  const inMemory = solveHierarchy(arms, { ...hierarchy, variances });
  expect(relative(fromLog.metrics.noise_variance, variances.noise)).toBeLessThan(1e-9);
  expect([...fromLog.arms.keys()]).toEqual(["large", "small"]);
  const pairs = [...fromLog.arms.values(), fromLog.prior].map(
    (one, i) => [one, inMemory.arms[i] ?? inMemory.unknown] as const,
  );
  for (const [one, other] of pairs) {
    Array.from(other.mean).forEach((value, k) => expect(relative(one?.mean[k], value)).toBeLessThan(1e-8));
    Array.from(other.factor).forEach((value, k) => expect(relative(one?.factor[k], value)).toBeLessThan(1e-8));
  }
});

const relative = (one: number | undefined, other: number | undefined): number =>
  Math.abs((one ?? Number.NaN) - (other ?? Number.NaN)) / Math.max(1, Math.abs(other ?? 0));
