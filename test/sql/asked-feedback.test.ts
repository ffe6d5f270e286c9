// Feedback that comes where it was asked for, on a real ClickHouse: what the views and an
// off-policy evaluation make of it, beside values that are known because the test made the rewards.
// Needs no Kafka.
import { afterAll, beforeAll, expect, it } from "vitest";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import type { Decision } from "../../schemas/types.ts";
import { readLog } from "../../analysis/off-policy/read.ts";
import { readValues } from "../../gateway/page/data/values.ts";
import { servingOf } from "../../operators/route/target.ts";
import { valuesOf } from "../../analysis/off-policy/values.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { decisionOf, recordInto } from "../support/learning.ts";

const count = 6_000;
const context = [1, ...new Array<number>(FEATURE_COUNT - 1).fill(0)];
/** Decisions that may not be asked about; they get no feedback. */
const mute = 300;
const now = Date.now();
/** Where the arms are even all are asked, elsewhere one of ten; six of ten who are asked answer. */
const worth = (even: boolean, arm: string): number => (even ? 0.5 : arm === "small" ? 0.9 : 0.2);
const truth = { small: 0.4 * 0.5 + 0.6 * 0.9, large: 0.4 * 0.5 + 0.6 * 0.2 };

let database: MigratedDatabase;
let clickhouse: ClickHouse;
const rewarded = new Map<string, number>();

beforeAll(async () => {
  database = await startDatabase("asked_feedback_test");
  clickhouse = database.clickhouse;
  const random = splitmix64(21);
  const decisions = Array.from({ length: count + mute }, (_, i): Decision => {
    const even = i % 10 < 4;
    const chosen = random() < (even ? 0.5 : 0.7) ? "small" : "large";
    const askProbability = i >= count ? 0 : even ? 1 : 0.1;
    const asked = random() < askProbability;
    if (random() < (asked ? 0.6 : 0)) rewarded.set(`q${i}`, random() < worth(even, chosen) ? 1 : 0);
    const one = decisionOf(`q${i}`, "small", context, { featureVersion: FEATURE_VERSION, createdAt: now - 60_000 });
    const small = even ? 0.5 : 0.7;
    const arms = one.arms.map((score, k) => ({
      ...{ ...score, arm: ["small", "large"][k]!, context, probability: [small, 1 - small][k]! },
    }));
    const probability = chosen === "small" ? small : 1 - small;
    return { ...one, arms, arm: chosen, probability, asked, askProbability };
  });
  await recordInto(clickhouse).decisions(...decisions);
  await reward(rewarded);
});
const reward = (rewards: ReadonlyMap<string, number>): Promise<void> =>
  clickhouse.insert(
    "rewards",
    [...rewards].map(([request_id, value]) => ({
      ...{
        request_id,
        tenant: "default",
        reward: value,
        weight: 1,
        counted: 1,
        received: 1,
        newest_at: now,
        version: 1,
      },
    })),
  );
afterAll(() => database.remove());

/** What an evaluation says of always taking this arm. */
async function evaluated(arm: "small" | "large", correctFeedback: boolean) {
  const read = await readLog({
    ...{ clickhouse, window: { since: now - 3_600_000, until: now }, targets: [{ kind: "arm", name: arm, arm }] },
    ...{ serving: servingOf({ priorMean: 0.5, priorVariance: 0.25 }), maxDecisions: 100_000, correctFeedback },
    signal: new AbortController().signal,
  });
  const interval = { kind: "normal", confidence: 0.95, seed: 1 } as const;
  const { values } = valuesOf(read, { estimators: ["ips", "snips", "dr"], cap: 100, costWeight: 0, interval });
  return { read, estimates: values[0]!.estimates };
}

it.each(["small", "large"] as const)(
  "%s is worth what it is, though it was mostly asked about when even",
  async (arm) => {
    for (const correct of [false, true]) {
      const { read, estimates } = await evaluated(arm, correct);
      expect(read.correctedBy).toBe(correct ? "kind" : "asking");
      expect(read.of.requestId.length).toBe(count);
      // No decision with feedback represents those.
      expect(Object.fromEntries(read.leftOut)).toEqual({ feedback_missing: mute });
      for (const { value } of estimates) expect(Math.abs(value! - truth[arm])).toBeLessThan(0.05);
    }
  },
);

it("the views weigh a reward as the evaluation does", async () => {
  const rows = await clickhouse.query<{ arm: "small" | "large"; snips: number; ips: number }>(
    "SELECT arm, snips, ips FROM policy_value_arms ORDER BY arm",
  );
  expect(rows.map(({ arm }) => arm)).toEqual(["large", "small"]);
  for (const { arm, snips, ips } of rows) {
    const { estimates } = await evaluated(arm, false);
    expect(snips).toBeCloseTo(estimates.find(({ estimator }) => estimator === "snips")!.value!, 9);
    expect(Math.abs(ips - truth[arm])).toBeLessThan(0.05);
  }
  const [rates] = await clickhouse.query<{ asked: number; unasked: number; never: number }>(
    "SELECT asked, unasked, never FROM asking_rates",
  );
  expect(rates!.asked).toBeCloseTo(0.6, 1);
  expect(rates).toMatchObject({ unasked: 0, never: 0 });
});

it("the page weighs it so, too, and judges choices and arm on the decisions that could take the arm", async () => {
  const views = await clickhouse.query<{ arm: string; snips: number; reach: number; effective: number }>(
    "SELECT arm, snips, snips_reach AS reach, effective FROM policy_value_arms ORDER BY snips DESC",
  );
  const { arms } = await readValues(clickhouse);
  expect(arms.map(({ arm }) => arm)).toEqual(views.map(({ arm }) => arm));
  for (const [i, { snips, reach, effective }] of views.entries()) {
    expect(arms[i]!.snips).toBeCloseTo(snips, 9);
    expect(arms[i]!.snipsReach).toBeCloseTo(reach, 9);
    expect(arms[i]!.effective).toBeCloseTo(effective, 6);
  }

  // Whenever there is a choice both earn 1; where there is none the only arm earns 0.
  const rewards = new Map(Array.from({ length: 250 }, (_, i) => [`r${i}`, i < 50 ? 1 : 0]));
  const decisions = [...rewards].map(([id, value], i): Decision => {
    const one = decisionOf(id, "only", context, { featureVersion: FEATURE_VERSION, createdAt: now - 60_000 });
    const [only, rare] = value === 1 ? [0.5, 0.5] : [1, 0];
    const arms = one.arms.map((score, k) => ({
      ...{ ...score, arm: ["only", "rare"][k]!, context, probability: [only, rare][k]! },
    }));
    return { ...one, arms, arm: value === 1 && i % 2 === 1 ? "rare" : "only", probability: only, askProbability: null };
  });
  await recordInto(clickhouse).decisions(...decisions);
  await reward(rewards);
  const { arms: known } = await readValues(clickhouse);
  const rare = known.find(({ arm }) => arm === "rare");
  expect(rare).toMatchObject({ decisions: 50, snips: 1, rival: { logged: 1, always: 1, difference: 0 } });
  expect(rare?.unsupported).toBeCloseTo(0.8, 9);
  expect(known.find(({ arm }) => arm === "only")).toMatchObject({ decisions: 250, unsupported: 0 });
});
