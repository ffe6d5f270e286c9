// The router's statistics by tenant on a real ClickHouse, through learn and the code that routes:
// what one tenant says changes nothing of what is believed and chosen for another. Needs no Kafka.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { createAggregate, rewardsTakenBack } from "../../operators/aggregate/aggregate.ts";
import { rowsOf } from "../../operators/decode/rows.ts";
import { createPublish } from "../../operators/publish/publish.ts";
import { scoreArms } from "../../operators/route/score.ts";
import { learn } from "../../pipelines/learn/pipeline.ts";
import { routerPrior } from "../../state/policies/prior.ts";
import { createPolicyTable } from "../../state/policies/router-table.ts";
import { beliefsOf, type RouterPolicy } from "../../state/policies/router.ts";
import { createPolicyTopic } from "../../state/policies/topic.testing.ts";
import type { Decision } from "../../schemas/types.ts";
import { targetProbabilities } from "../../operators/route/target.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { decisionOf, feedbackOf, hourMs, recordInto, start } from "../support/learning.ts";

const topics = { feedback: "t.feedback", decisions: "t.decisions", withdrawals: "t.withdrawals" };
const x = [1, ...new Array<number>(FEATURE_COUNT - 1).fill(0.1)];
const configured = { priorMean: 0.5, priorVariance: 0.25, noiseVariance: 0.1, variances: "estimated" as const };
const prior = routerPrior(configured);
let database: MigratedDatabase;
let clickhouse: ClickHouse;
let log: ReturnType<typeof recordInto>;

beforeAll(async () => {
  database = await startDatabase("tenant_statistics_test");
  clickhouse = database.clickhouse;
});
afterAll(() => database.remove());
beforeEach(async () => {
  const sums = ["rewards", "arm_hours", "tenant_arm_hours", "feedback_excess", "learn_positions"];
  for (const table of ["feedback", "decisions", "responses", "withdrawals", ...sums])
    await clickhouse.command(`TRUNCATE TABLE ${table}`);
  log = recordInto(clickhouse);
});

/** learn on this database; resolves to the policy that plan has after a pass. */
function learner(mostTenants = 50, topic = createPolicyTopic()) {
  const policies = topic.writer(["router"], 0).of("router");
  const table = createPolicyTable("tenant");
  const byTenant = { mostTenants };
  const pass = learn.bind({
    aggregate: createAggregate({
      ...{ clickhouse, topics, byTenant, featureVersion: FEATURE_VERSION, dimension: FEATURE_COUNT },
    }),
    publish: createPublish({
      ...{ policies, featureVersion: FEATURE_VERSION, settleMs: 0, clock: () => 5 },
      takenBack: (since) => rewardsTakenBack(clickhouse, since),
    }),
    solving: { dimension: FEATURE_COUNT, ...configured, ...(prior.hierarchy && { hierarchy: prior.hierarchy }) },
    ...{ halfLifeHours: 24, byTenant, observe: () => undefined },
  });
  return async (): Promise<RouterPolicy> => {
    const { solved } = await pass();
    expect(solved.problems).toEqual([]);
    const newest = policies.newest();
    if (newest !== null) table.apply(newest);
    return table.current().policy;
  };
}

/** Both arms with the context x; `arm` answered. */
const decided = (tenant: string, id: string, arm: string, more: Partial<Decision> = {}): Decision => {
  const one = decisionOf(id, arm, x, { featureVersion: FEATURE_VERSION, tenant, domain: `${tenant}/d`, ...more });
  const other = arm === "small" ? "large" : "small";
  return { ...one, arms: one.arms.map((each) => ({ ...each, arm: each.arm === "other" ? other : arm, context: x })) };
};

let reported = 0;
/** So many requests of a tenant that an arm answered, each with a reward. */
async function rewarded(tenant: string, arm: string, rewards: readonly number[], at = start): Promise<void> {
  const ids = rewards.map(() => `${tenant}-${arm}-${++reported}`);
  await log.decisions(...ids.map((id) => decided(tenant, id, arm, { createdAt: at })));
  await log.feedback(
    ...ids.map((id, i) => feedbackOf(id, { tenant, kind: "reward", value: rewards[i]!, createdAt: at })),
  );
}

/** With what probability each arm would answer a tenant's request. */
function chances(policy: RouterPolicy, tenant: string): Record<string, number> {
  const contenders = ["small", "large"].map((name) => ({
    arm: { name, model: `${name === "small" ? "small" : "other"}-model`, cost: 0.5 } as never,
    ...{ context: x, examples: [], trial: null },
  }));
  const idle = {
    ...{ load: { costlier: 0, byArm: new Map() }, loadBias: { threshold: 1, gamma: 1, lambda0: 0 } },
    saturationBias: { threshold: 1, gamma: 1, weight: 0 },
  };
  const { scores } = scoreArms(
    contenders,
    beliefsOf(policy, tenant, "default/default"),
    prior.unknown,
    { costWeight: 0, ...idle },
    splitmix64(1),
  );
  return Object.fromEntries(scores.map(({ arm, probability }) => [arm, probability]));
}

describe("statistics by tenant", () => {
  it("what one tenant says changes nothing of another's beliefs and choices, whenever it says it", async () => {
    const newest = learner();
    await rewarded("b", "small", [0.2, 0.4, 0.3]);
    const before = await newest();
    const own = beliefsOf(before, "b", "default/default");
    expect(chances(before, "b").small).toBeLessThan(0.5);

    await rewarded("a", "small", new Array<number>(40).fill(1));
    await rewarded("a", "small", new Array<number>(5).fill(0.9), start + 500 * hourMs);
    await log.decisions(decided("a", "compared", "small"));
    await log.feedback(feedbackOf("compared", { tenant: "a", kind: "preference", value: 1, against: "large" }));
    const after = await newest();
    expect(after.version).toBeGreaterThan(before.version);
    expect(beliefsOf(after, "b", "default/default")).toEqual(own);
    expect(chances(after, "b")).toEqual(chances(before, "b"));
    expect(chances(after, "a").small).toBeGreaterThan(0.6);
    // A tenant without rewards has the prior, and nothing of theirs.
    expect(beliefsOf(after, "c", "default/default")).toEqual({ arms: new Map() });
    expect(chances(after, "c").small).toBeCloseTo(0.5, 9);
    // Evaluation says the same as the code that serves.
    const candidates = ["small", "other"].map((name) => ({
      ...{ arm: name === "small" ? "small" : "large", model: `${name}-model`, context: x, bias: 0, probability: 0.5 },
    }));
    const target = { kind: "router", name: "router", policy: after } as const;
    for (const tenant of ["a", "b", "c"])
      expect(
        targetProbabilities(target, candidates, { prior: prior.unknown }, { tenant, domain: `${tenant}/default` }),
      ).toEqual(Object.values(chances(after, tenant)));
  });

  it("a withdrawal takes back what its tenant learnt, to the last reward; a new learner makes the same", async () => {
    const newest = learner();
    await rewarded("b", "small", [0.2]);
    const first = await newest();
    await rewarded("a", "large", [1, 1]);
    const both = await newest();
    expect([...both.tenants!.keys()].sort()).toEqual(["a", "b"]);
    expect(beliefsOf(await learner()(), "a", "default/default")).toEqual(beliefsOf(both, "a", "default/default"));
    const withdrawal = {
      ...{ id: "w", tenant: "a", source: null, author: null, since: null, until: null, restores: null },
      ...{ comment: null, createdAt: start + 1 },
    };
    const place = { topic: "t.withdrawals", partition: 0, offset: 0, timestamp: start + 1 };
    await clickhouse.insert("withdrawals", rowsOf.withdrawals(withdrawal, place)[0]!.rows);
    const without = await newest();
    expect([...without.tenants!.keys()]).toEqual(["b"]);
    expect(beliefsOf(without, "b", "default/default")).toEqual(beliefsOf(first, "b", "default/default"));
  });

  it("so many tenants have some as may, those with the most rewards", async () => {
    const newest = learner(2);
    await rewarded("a", "small", [1]);
    await rewarded("b", "small", [1, 1]);
    await rewarded("c", "small", [1, 1, 1]);
    expect([...(await newest()).tenants!.keys()]).toEqual(["c", "b"]);
  });

  it("a version from all tenants' rewards is not used, and replaced at once", async () => {
    const topic = createPolicyTopic();
    const shared = topic.writer(["router"], 0).of("router");
    await rewarded("a", "small", [1, 1]);
    const pass = learn.bind({
      aggregate: createAggregate({ clickhouse, topics, featureVersion: FEATURE_VERSION, dimension: FEATURE_COUNT }),
      publish: createPublish({
        ...{ policies: shared, featureVersion: FEATURE_VERSION, settleMs: 0, clock: () => 5 },
      }),
      solving: { dimension: FEATURE_COUNT, ...configured },
      ...{ halfLifeHours: 24, observe: () => undefined },
    });
    await pass();
    const table = createPolicyTable("tenant");
    table.apply(shared.newest()!);
    expect(chances(table.current().policy, "a").small).toBeCloseTo(0.5, 9);
    const policy = await learner(50, topic)();
    expect(chances(policy, "a").small).toBeGreaterThan(0.5);
    expect(beliefsOf(policy, "b", "default/default").arms.size).toBe(0);
  });
});
