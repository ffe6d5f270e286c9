// Decisions and feedback through Kafka into ClickHouse, and what precedent policy evaluate, compare
// and promote make of them. What every policy is worth on these decisions is known, because the
// test made the rewards.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { constantPrior, priorPosterior } from "../../algorithms/routing/bandit.ts";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages, type RunningStages } from "../../pipelines/up.ts";
import { runCommand, type CapturedOutput } from "../../cli/run.testing.ts";
import { createAggregate, type Aggregate } from "../../operators/aggregate/aggregate.ts";
import { testingRecords } from "../../operators/decode/records.testing.ts";
import { scoreArms } from "../../operators/route/score.ts";
import { solve } from "../../operators/solve/solve.ts";
import { decodeRouterPolicy, encodeRouterBody, priorPolicy, ROUTER_KIND } from "../../state/policies/router.ts";
import { policyHistory } from "../../state/policies/history.ts";
import { createLog } from "../../runtime/log.ts";
import type { Decision, Policy, Response } from "../../schemas/types.ts";
import { targetProbabilities } from "../../operators/route/target.ts";
import { decisionOf, feedbackOf } from "../support/learning.ts";
import { eventually, testConfig } from "../support/system.ts";

const count = 900;
const arms = ["small", "large", "third"] as const;
const costs = { small: 0.1, large: 1, third: 0.4 };
const solving = { dimension: FEATURE_COUNT, priorMean: 0.5, priorVariance: 0.25, noiseVariance: 0.1 };
const prior = priorPosterior(constantPrior(FEATURE_COUNT, 0.5, 0.25, 0.1));
/** Expected reward: small is good at short prompts, large at long ones, third at neither. */
const worth = (arm: string, x: number): number => ({ small: 0.9 - 0.7 * x, large: 0.3 + 0.6 * x, third: 0.35 })[arm]!;

let folder = "";
let session: Session;
let stages: RunningStages;
let aggregate: Aggregate;
let decisions: Decision[] = [];
const now = Date.now();

/** As route decides: under the prior, with costs and exact probabilities. */
function decided(): Decision[] {
  const random = splitmix64(11);
  const idle = {
    load: { costlier: 0, byArm: new Map<string, number>() },
    loadBias: { threshold: 1, gamma: 1, lambda0: 0 },
    saturationBias: { threshold: 1, gamma: 1, weight: 0 },
  };
  return Array.from({ length: count }, (_, i) => {
    const length = random();
    const context = Array.from({ length: FEATURE_COUNT }, (_, k) => [1, length, length][k] ?? 0);
    const contenders = arms.map((name) => ({
      arm: {
        ...{ name, model: `${name}-model`, cost: costs[name], examples: false, template: "chat-turns" as const },
        ...{ maxTokens: 64, prices: { prompt: 0, completion: 0 } },
      },
      ...{ context, examples: [], trial: null },
    }));
    const { scores, chosen } = scoreArms(contenders, priorPolicy, prior, { costWeight: 0.3, ...idle }, random);
    return decisionOf(`q${i}`, "small", [], {
      ...{
        featureVersion: FEATURE_VERSION,
        arms: scores,
        arm: arms[chosen]!,
        probability: scores[chosen]!.probability,
      },
      ...{ domain: i % 3 === 0 ? "default/code" : "default/prose", createdAt: now - 60_000 + i },
      // The router was bypassed on some.
      degraded: i % 100 === 7 ? ["policy"] : [],
    });
  });
}

async function produce<T extends object>(
  topic: "decisions" | "feedback" | "responses" | "policies",
  records: readonly T[],
  keyOf: (record: T) => string,
): Promise<void> {
  const producer = session.kafka.plainProducer();
  await producer.send(
    records.map((record) => ({
      topic: session.topic(topic),
      key: keyOf(record),
      value: session.codec.encode(topic, record as never),
    })),
  );
  await producer.close();
}

const rows = async (sql: string): Promise<number> =>
  (await session.clickhouse.query<{ n: number }>(`SELECT count() AS n FROM ${sql}`))[0]!.n;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-off-policy-"));
  const recorded = arms.map((name) => ({ name, type: "recorded", file: "answers.jsonl" }));
  const config = testConfig({ arms: recorded, record: { batchMs: 50 } }, folder);
  session = await openSession(config, { log: createLog({ level: "silent" }) });
  stages = await startStages(session, { stages: ["record"] });
  const { kafka, registry, clickhouse } = config;
  const reported = {
    kafka: { brokers: kafka.brokers, prefix: kafka.prefix, partitions: kafka.partitions },
    registry: { url: registry.url },
    clickhouse: {
      ...{ url: clickhouse.url, username: clickhouse.username, password: clickhouse.password },
      database: clickhouse.database,
    },
    stack: { folder },
    arms: recorded,
  };
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify(reported));

  decisions = decided();
  const random = splitmix64(12);
  const heard = decisions.filter((_, i) => i % 10 !== 3);
  const feedback = heard.map(({ requestId, arm, arms: scores }) => {
    const reward = random() < worth(arm, scores[0]!.context[2]!) ? 1 : -1;
    return feedbackOf(requestId, { value: reward, createdAt: now });
  });
  // One was answered by another arm than the decision's, one failed.
  const response = { ...testingRecords.responses, tenant: "default", duplicate: false, createdAt: now };
  const responses: Response[] = [
    { ...response, requestId: "q0", status: "ok", arm: arms.find((arm) => arm !== decisions[0]!.arm)! },
    { ...response, requestId: "q1", status: "failed", arm: null },
    { ...response, requestId: "q2", status: "ok", arm: decisions[2]!.arm },
  ];
  await produce("decisions", decisions, ({ requestId }) => requestId);
  await produce("feedback", feedback, ({ requestId }) => requestId);
  await produce("responses", responses, ({ requestId }) => requestId);
  await eventually("all is recorded", async () => {
    const stored = [await rows("decisions FINAL"), await rows("feedback FINAL"), await rows("responses FINAL")];
    return stored.join() === [count, feedback.length, 3].join() ? true : undefined;
  });
  aggregate = createAggregate({
    clickhouse: session.clickhouse,
    topics: { feedback: session.topic("feedback"), decisions: session.topic("decisions") },
    ...{ featureVersion: FEATURE_VERSION, dimension: FEATURE_COUNT },
  });
  while ((await aggregate.advance()).more);
});
afterAll(async () => {
  await stages.stop();
  await session.clickhouse.command(`DROP DATABASE IF EXISTS ${session.config.clickhouse.database}`);
  await session.close();
  await rm(folder, { recursive: true, force: true });
});

const run = (...argv: string[]): Promise<CapturedOutput> => runCommand(folder, ["policy", ...argv]);
interface Figures {
  decisions: number;
  left_out: Record<string, number>;
  evaluation: string;
  policies: { policy: string; effective: number; estimates: Value[] }[];
  differences: Value[];
  domains: { domain: string; decisions: number; value: number }[];
  warnings: string[];
}
interface Value {
  estimator: string;
  value: number;
  low: number;
  high: number;
}
async function json(...argv: string[]): Promise<Figures> {
  const reported = await run(...argv, "--json");
  expect(reported).toMatchObject({ code: 0 });
  return JSON.parse(reported.out) as Figures;
}
const by = (values: readonly Value[], name: string): Value => values.find(({ estimator }) => estimator === name)!;

/** Decisions that can be used. */
const used = (): Decision[] => decisions.filter((_, i) => i > 1 && i % 100 !== 7 && i % 10 !== 3);
/** What a policy is worth on them, by the rewards' own formula. */
const truth = (share: (decision: Decision) => readonly number[]): number =>
  used().reduce(
    (sum, decision) =>
      sum + share(decision).reduce((all, p, k) => all + p * worth(arms[k]!, decision.arms[0]!.context[2]!), 0),
    0,
  ) / used().length;

describe("precedent policy evaluate", () => {
  it("gives a constant policy's value, and says what it rests on", async () => {
    const figures = await json("evaluate", "large");
    expect(figures.decisions).toBe(used().length);
    expect(figures.left_out).toEqual({ degraded: 9, failed: 1, other_arm: 1, feedback_missing: 90 });
    const expected = truth(() => [0, 1, 0]);
    const values = figures.policies[0]!.estimates;
    for (const name of ["ips", "snips", "dr", "switch-dr"]) {
      const { low, high } = by(values, name);
      expect(low).toBeLessThan(expected);
      expect(high).toBeGreaterThan(expected);
    }
    // SNIPS again, from the decisions themselves.
    const chosen = await session.clickhouse.query<{
      decisions: number;
      snips: number;
      effective: number;
      reach: number;
    }>("SELECT decisions, snips, effective, snips_reach AS reach FROM policy_value_arms WHERE arm = 'large'");
    expect(chosen[0]!.decisions).toBe(figures.decisions);
    expect(chosen[0]!.snips).toBeCloseTo(by(values, "snips").value, 10);
    expect(chosen[0]!.reach).toBeCloseTo((by(values, "snips").high - by(values, "snips").low) / 2, 8);
    expect(chosen[0]!.effective).toBeCloseTo(figures.policies[0]!.effective, 6);
    const reported = await run("evaluate", "large", "--estimators", "snips,dm", "--interval", "bootstrap");
    expect(reported.out).toMatch(/large *│ *snips/);
    expect(reported.out).toContain("percentile bootstrap");
    expect(reported.out).toContain("9 the router was bypassed");
    expect(reported.out).not.toContain("switch-dr");
  });

  it("of what happened gives the mean reward", async () => {
    const figures = await json("evaluate", "logged");
    const [row] = await session.clickhouse.query<{ mean: number }>(
      `SELECT avg(reward) AS mean FROM rewards FINAL WHERE request_id IN ({ids:Array(String)})`,
      { ids: used().map(({ requestId }) => requestId) },
    );
    expect(by(figures.policies[0]!.estimates, "ips").value).toBeCloseTo(row!.mean, 10);
    expect(figures.policies[0]!.effective).toBeCloseTo(figures.decisions, 6);
  });

  it("saves its terms, and the views come to the same figures", async () => {
    const figures = await json("evaluate", "router", "--save", "--cost-weight", "0.3", "--cap", "3");
    const [row] = await session.clickhouse.query<Record<string, number>>(
      "SELECT * FROM policy_value_evaluations WHERE evaluation = {evaluation:String}",
      { evaluation: figures.evaluation },
    );
    expect(row).toMatchObject({ policy: "router@0", decisions: figures.decisions });
    const { estimates, effective } = figures.policies[0]!;
    for (const [name, column] of [["ips"], ["snips"], ["dm"], ["dr"], ["switch-dr", "switch_dr"]] as const)
      expect(row![column ?? name]).toBeCloseTo(by(estimates, name).value, 10);
    for (const [name, column] of [["ips"], ["snips"], ["dr"], ["switch-dr", "switch_dr"]] as const)
      expect(row![`${column ?? name}_reach`]).toBeCloseTo((by(estimates, name).high - by(estimates, name).low) / 2, 8);
    expect(row!.effective).toBeCloseTo(effective, 6);
    const domains = await session.clickhouse.query<{ domain: string; decisions: number }>(
      "SELECT domain, decisions FROM policy_value_domains WHERE evaluation = {evaluation:String} ORDER BY domain",
      { evaluation: figures.evaluation },
    );
    expect(domains.map(({ domain }) => domain)).toEqual(["default/code", "default/prose"]);
    expect(domains.reduce((sum, { decisions: own }) => sum + own, 0)).toBe(figures.decisions);
  });

  it("corrects for missing feedback where it is asked to, and bounds what it reads", async () => {
    const corrected = await json("evaluate", "large", "--correct-feedback");
    expect(corrected.decisions).toBe(used().length + 90);
    expect(corrected.left_out).toEqual({ degraded: 9, failed: 1, other_arm: 1 });
    const expected = truth(() => [0, 1, 0]);
    const { low, high } = by(corrected.policies[0]!.estimates, "dr");
    expect(low < expected && expected < high).toBe(true);
    const sample = await json("evaluate", "large", "--decisions", "100", "--save");
    expect(sample.decisions).toBe(100);
    // By hash: the first ids may be the oldest.
    expect(await rows(`policy_terms WHERE evaluation = '${sample.evaluation}' AND request_id > 'q5'`)).toBeGreaterThan(
      25,
    );
    expect((await json("evaluate", "large", "--domain", "code")).decisions).toBeLessThan(count / 3);
  });

  it.each([
    [["evaluate", "router@7"], 1, /router has no version 7/],
    [["evaluate", "gone.json"], 1, /gone.json: there is no such file/],
    [["evaluate", "unknown"], 1, /unknown is no policy: give .*; arms are small, large, third/],
    [["evaluate", "arm:unknown"], 1, /no decision of the window can be used .*the target's arm was not allowed/],
    [["evaluate", "large", "--domain", "none"], 1, /no decision of the window can be used \(there is none\)/],
    [["evaluate", "large", "--since", "yesterday"], 2, /2026-11-22, .*24h or 7d/],
    [["evaluate", "large", "--since", "1h", "--until", "2h"], 1, /is not before --until/],
    [["evaluate", "large", "--estimators", "ips,magic"], 2, /no magic; allowed: ips, snips/],
    [["promote", "large"], 1, /large is no router policy/],
    [["promote", "router@0", "--above", "profit"], 2, /--above: a number/],
  ])("%j ends with %d and says what is wrong", async (argv, code, problem) => {
    expect(await run(...argv)).toMatchObject({ code, note: expect.stringMatching(problem) });
  });
});

describe("precedent policy compare and promote", () => {
  let learnt: Policy["body"] = "";
  beforeAll(async () => {
    learnt = encodeRouterBody(solve(await aggregate.statistics(168), solving));
    await writeFile(join(folder, "learnt.json"), learnt);
  });

  it("finds by how much a learnt policy is better, with an interval that holds, by domain", async () => {
    const figures = await json("compare", "router", "learnt.json");
    const decoded = decodeRouterPolicy({ ...testingRecords.policies, ...published(learnt) });
    if ("problem" in decoded) throw new Error(decoded.problem);
    const shareOf =
      (policy: typeof decoded) =>
      ({ arms: scores, tenant }: Decision) =>
        targetProbabilities(
          { kind: "router", name: "", policy },
          scores,
          { prior },
          { tenant, domain: `${tenant}/default` },
        )!;
    const expected = truth(shareOf(decoded)) - truth(shareOf(priorPolicy));
    expect(expected).toBeGreaterThan(0.05);
    for (const name of ["snips", "dr"]) {
      const { low, high, value } = by(figures.differences, name);
      expect(low < expected && expected < high).toBe(true);
      const values = figures.policies.map(({ estimates }) => by(estimates, name));
      expect(value).toBeCloseTo(values[1]!.value - values[0]!.value, 10);
    }
    expect(figures.domains.map(({ domain }) => domain)).toEqual(["default/prose", "default/code"]);
    expect((await run("compare", "router", "learnt.json")).out).toContain("learnt.json - router@0");
  });

  it("publishes only what is surely better by enough, and pauses learning", async () => {
    const refused = await run("promote", "learnt.json", "--above", "0.5");
    expect(refused).toMatchObject({
      code: 1,
      note: expect.stringMatching(/not promoted: lower end of the difference by dr 0\.\d+, above 0.5 is wanted/),
    });
    expect(await policyHistory(session.clickhouse, "router")).toEqual([]);

    const done = await run("promote", "learnt.json");
    expect(done).toMatchObject({ code: 0, out: expect.stringMatching(/router 1 is learnt.json; learning is paused/) });
    const [made] = await eventually("it is recorded", async () => {
      const history = await policyHistory(session.clickhouse, "router");
      return history.length > 0 ? history : undefined;
    });
    expect(made).toMatchObject({ version: 1, revertOf: 1, body: learnt, featureVersion: FEATURE_VERSION });

    // Now in force, and so no better than what is in force.
    const again = await run("promote", "router@1");
    expect(again).toMatchObject({
      code: 1,
      note: expect.stringMatching(/lower end of the difference by dr 0.*, above 0 is wanted/),
    });
    const back = await run("promote", "router@1", "--against", "router@0");
    expect(back).toMatchObject({ code: 0, out: expect.stringMatching(/router 2 is router@1/) });
  });
});

const published = (body: string): Partial<Policy> => ({
  ...{ name: "router", kind: ROUTER_KIND, body, featureVersion: FEATURE_VERSION },
  ...{ reference: null, hash: null },
});
