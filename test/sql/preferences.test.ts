// Comparisons of two answers on a real ClickHouse, through learn: they change the published policy
// as the model of pairs says, and not when they are withdrawn, forged or of answers that another
// arm gave. Needs no Kafka.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { predict, type Posterior } from "../../algorithms/routing/bandit.ts";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createAggregate } from "../../operators/aggregate/aggregate.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { createPublish } from "../../operators/publish/publish.ts";
import { learn } from "../../pipelines/learn/pipeline.ts";
import { routerPrior } from "../../state/policies/prior.ts";
import { decodeRouterPolicy, sameArms, type RouterPolicy } from "../../state/policies/router.ts";
import { createPolicyTopic } from "../../state/policies/topic.testing.ts";
import type { Decision } from "../../schemas/types.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { decisionOf, feedbackOf, recordInto, start } from "../support/learning.ts";

const topics = { feedback: "t.feedback", decisions: "t.decisions", withdrawals: "t.withdrawals" };
const x = [1, ...new Array<number>(FEATURE_COUNT - 1).fill(0.1)];
let database: MigratedDatabase;
let clickhouse: ClickHouse;
let log: ReturnType<typeof recordInto>;

beforeAll(async () => {
  database = await startDatabase("preferences_test");
  clickhouse = database.clickhouse;
});
afterAll(() => database.remove());
beforeEach(async () => {
  const tables = ["feedback", "decisions", "responses", "withdrawals", "rewards", "arm_hours", "learn_positions"];
  for (const table of tables) await clickhouse.command(`TRUNCATE TABLE ${table}`);
  log = recordInto(clickhouse);
});

/** learn on this database; resolves to the newest policy after a pass. */
function learner() {
  const { writer } = createPolicyTopic();
  const policies = writer(["router"], 0).of("router");
  const prior = { priorMean: 0.5, priorVariance: 0.25, noiseVariance: 0.1, variances: "estimated" as const };
  const { hierarchy } = routerPrior(prior);
  const pass = learn.bind({
    aggregate: createAggregate({ clickhouse, topics, featureVersion: FEATURE_VERSION, dimension: FEATURE_COUNT }),
    publish: createPublish({
      policies,
      featureVersion: FEATURE_VERSION,
      settleMs: 0,
      clock: () => 5,
    }),
    solving: { dimension: FEATURE_COUNT, ...prior, ...(hierarchy && { hierarchy }) },
    halfLifeHours: 24,
    observe: () => undefined,
  });
  return async (): Promise<RouterPolicy | null> => {
    const { solved } = await pass();
    expect(solved.problems).toEqual([]);
    const newest = policies.newest();
    const decoded = newest === null ? null : decodeRouterPolicy(newest);
    if (decoded !== null && "problem" in decoded) throw new Error(decoded.problem);
    return decoded;
  };
}

/** Both arms with the context x; small answered. */
const decided = (id: string, more: Partial<Decision> = {}): Decision => {
  const one = decisionOf(id, "small", x, { featureVersion: FEATURE_VERSION, ...more });
  return {
    ...one,
    arms: one.arms.map((arm) => ({ ...arm, arm: arm.arm === "other" ? "large" : arm.arm, context: x })),
  };
};
const worth = (policy: RouterPolicy | null, arm: string): number =>
  predict((policy?.arms.get(arm) ?? policy?.prior) as Posterior, x).mean;

describe("preferences", () => {
  it("change the published policy, and give it back when they are withdrawn", async () => {
    const newest = learner();
    await log.decisions(...["r1", "r2", "r3", "r4"].map((id) => decided(id)));
    await log.feedback(
      feedbackOf("r1", { kind: "reward", value: 0.6 }),
      feedbackOf("r2", { kind: "reward", value: 0.4 }),
    );
    const rewarded = await newest();
    expect([...(rewarded?.arms.keys() ?? [])]).toEqual(["small"]);
    await log.feedback(
      feedbackOf("r3", { id: "p3", kind: "preference", value: -1, against: "large" }),
      feedbackOf("r4", { id: "p4", kind: "comparison", value: -3, against: "large" }),
    );
    const preferred = await newest();
    expect(worth(preferred, "large")).toBeGreaterThan(worth(rewarded, "large"));
    expect(worth(preferred, "small")).toBeLessThan(worth(rewarded, "small"));
    expect(preferred?.arms.get("large")).toMatchObject({ model: "other-model", count: 2 });
    // Nothing new: nothing published; a new learner makes the same of the same tables.
    expect((await newest())?.version).toBe(preferred?.version);
    const again = await learner()();
    expect(sameArms(again!.arms, preferred!.arms)).toBe(true);

    await log.feedback(feedbackOf("r3", { withdraws: "p3" }), feedbackOf("r4", { withdraws: "p4" }));
    expect(sameArms((await newest())!.arms, rewarded!.arms)).toBe(true);
  });

  it("of a withdrawn author count no more", async () => {
    const newest = learner();
    await log.decisions(decided("r1"), decided("r2"));
    await log.feedback(feedbackOf("r1", { kind: "reward", value: 0.6 }));
    const rewarded = await newest();
    await log.feedback(feedbackOf("r2", { kind: "preference", value: -1, against: "large", author: "mallory" }));
    expect(sameArms((await newest())!.arms, rewarded!.arms)).toBe(false);
    const withdrawal = {
      ...{ id: "w", tenant: null, source: null, author: "mallory", since: null, until: null, restores: null },
      ...{ comment: null, createdAt: start },
    };
    const place = { topic: "t.withdrawals", partition: 0, offset: 0, timestamp: start };
    await clickhouse.insert("withdrawals", rowsOf.withdrawals(withdrawal, place)[0]!.rows);
    expect(sameArms((await newest())!.arms, rewarded!.arms)).toBe(true);
  });

  it("alone make a policy; each counts once, ties pull together, what compares nothing is left out", async () => {
    const newest = learner();
    await log.decisions(decided("r1"), decided("r2"), decided("r3"), decided("r4", { featureVersion: 99 }));
    await clickhouse.insert("responses", [
      {
        request_id: "r3",
        tenant: "default",
        status: "ok",
        arm: "large",
        failed_arms: [{ arm: "small", code: "x", attempts: 1 }],
        created_at: "2026-03-01 12:00:00",
        topic: "t.responses",
      },
    ]);
    const preference = { kind: "preference" as const, value: 1, against: "large" };
    await log.feedback(
      feedbackOf("r1", { id: "twice", ...preference }),
      feedbackOf("r1", { id: "twice", ...preference }),
      // They changed their mind; the newest counts.
      feedbackOf("r1", { ...preference, value: -1, createdAt: start + 1 }),
      feedbackOf("r2", { ...preference, kind: "comparison", value: 0.2, source: "judge" }),
      // Answered by another arm, of another layout, against itself, against an unknown arm, no
      // number.
      feedbackOf("r3", preference),
      feedbackOf("r4", preference),
      feedbackOf("r2", { ...preference, against: "small" }),
      feedbackOf("r2", { ...preference, against: "gone" }),
      feedbackOf("r2", { ...preference, value: Number.NaN, createdAt: start + 2, source: "system" }),
      // Another tenant has no such request.
      feedbackOf("r2", { ...preference, tenant: "mallory" }),
    );
    const policy = await newest();
    expect(policy?.arms.get("small")?.count).toBeCloseTo(1.3, 12);
    expect(policy?.arms.get("large")?.count).toBeCloseTo(1.3, 12);
    expect(worth(policy, "large")).toBeGreaterThan(worth(policy, "small"));
    expect(policy?.trainedThrough).toBe(start + 1);
  });
});
