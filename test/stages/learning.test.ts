// The learning loop on the real servers: requests, late and doubled feedback, a learner killed,
// ClickHouse away in the middle. What comes out must be the posterior that the log itself gives,
// and plan must route by it. ClickHouse is a process of this test's own, so that it can be killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { predict } from "../../algorithms/routing/bandit.ts";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { policiesOf } from "../../pipelines/policies.ts";
import { startStages, type RunningStages } from "../../pipelines/up.ts";
import { firstGuess } from "../../state/policies/prior.ts";
import { resumePolicy, revertPolicy } from "../../state/policies/revert.ts";
import { decodeRouterPolicy, type RouterPolicy } from "../../state/policies/router.ts";
import type { Decision, Feedback, Policy } from "../../schemas/types.ts";
import { startFacade, type Facade } from "../support/clickhouse.ts";
import { follow } from "../support/follow.ts";
import { directPosteriors, feedbackOf } from "../support/learning.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const halfLifeHours = 168;
let folder: string;
let facade: Facade;
let system: TestSystem;
let learner: RunningStages | undefined;
const tails: { stop(): Promise<void> }[] = [];
const decisions = new Map<string, Decision>();
const policies: Policy[] = [];
const sent: Feedback[] = [];
let producer: ReturnType<TestSystem["session"]["kafka"]["plainProducer"]>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-learning-"));
  const file = join(folder, "log.jsonl");
  const lines = Array.from({ length: 400 }, (_, i) =>
    JSON.stringify({ request: `question ${i}`, response: `answer ${i}` }),
  );
  await writeFile(file, lines.join("\n"));
  facade = await startFacade();
  system = await startSystem(
    {
      clickhouse: { url: facade.url, username: "default", password: facade.token },
      learn: { everyMs: 200, halfLifeHours, settleMs: 0 },
      // Every arm alone: what directPosteriors computes. Shared priors: learning-sql.test.ts.
      routing: { variances: "fixed" },
      arms: [
        { name: "small", type: "recorded", file, cost: 0.1 },
        { name: "large", type: "recorded", file, cost: 1 },
      ],
    },
    { stages: ["plan", "generate", "record"] },
  );
  tails.push(await follow(system.session, "decisions", (decision) => decisions.set(decision.requestId, decision)));
  tails.push(await follow(system.session, "policies", (policy) => policies.push(policy)));
  producer = system.session.kafka.plainProducer();
});
afterAll(async () => {
  await learner?.stop();
  await producer.close();
  await Promise.all(tails.map((tail) => tail.stop()));
  await system.stop();
  await facade.remove();
  await rm(folder, { recursive: true, force: true });
});

/**
 * The quality that the arms really have: the large one is good, the small one only at even
 * questions.
 */
const quality = (arm: string, i: number): number => (arm === "large" ? 0.9 : i % 2 === 0 ? 0.7 : 0.2) + (i % 10) / 100;

async function give(...feedback: Feedback[]): Promise<void> {
  sent.push(...feedback);
  const { codec, topic } = system.session;
  const value = (one: Feedback) => codec.encode("feedback", one);
  await producer.send(feedback.map((one) => ({ topic: topic("feedback"), key: one.requestId, value: value(one) })));
}

/** Asks questions [from, to) and resolves to the feedback that their answers deserve. */
async function ask(from: number, to: number): Promise<Feedback[]> {
  const numbers = Array.from({ length: to - from }, (_, k) => from + k);
  const answers = await Promise.all(numbers.map((i) => system.ask(`question ${i}`)));
  return answers.map(({ requestId, arm }, k) =>
    feedbackOf(requestId, {
      kind: "reward",
      value: quality(arm ?? "", from + k),
      source: "system",
      createdAt: Date.now(),
    }),
  );
}

const published = (what: string, wanted: (policy: Policy) => boolean): Promise<Policy> =>
  system.eventually(what, () => Promise.resolve(policies.find(wanted)), 40_000);

/** learn in a process of its own, to be killed with -9. */
async function startLearner(): Promise<{ kill(): Promise<void> }> {
  const file = join(folder, "precedent.yaml");
  await writeFile(file, JSON.stringify(system.config));
  const child = spawn(process.execPath, ["tools/bin/precedent", "-c", file, "up", "--stage", "learn"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return {
    async kill() {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}

function expectDirect(policy: RouterPolicy): void {
  const direct = directPosteriors([...decisions.values()], sent, {
    dimension: FEATURE_COUNT,
    featureVersion: FEATURE_VERSION,
    halfLifeHours,
    prior: { mean: 0.5, variance: firstGuess.priorVariance, noise: 0.1 },
  });
  expect([...policy.arms.keys()].sort()).toEqual([...direct.keys()].sort());
  for (const [arm, { mean, factor, count }] of direct) {
    const learnt = policy.arms.get(arm);
    expect(learnt?.count).toBeCloseTo(count, 9);
    const error = (one: ArrayLike<number>, other: ArrayLike<number> | undefined): number =>
      Math.max(
        ...Array.from(one, (value, j) => Math.abs(value - (other?.[j] ?? Number.NaN)) / Math.max(1, Math.abs(value))),
      );
    expect(error(mean, learnt?.mean)).toBeLessThan(1e-9);
    expect(error(factor, learnt?.factor)).toBeLessThan(1e-9);
  }
}

test("300 requests, feedback late and doubled, the learner killed, ClickHouse away: the posterior is that of the log", async () => {
  const victim = await startLearner();
  const early = await ask(0, 100);
  // Feedback for a request that is not yet recorded, and half of the rest later.
  await give(...early.slice(0, 50), feedbackOf("unknown", { value: 1, createdAt: Date.now() }));
  await published("a first version", ({ metrics }) => (metrics.rewards ?? 0) >= 1);
  await give(...early.slice(50, 70));
  await victim.kill();
  learner = await startStages(system.session, { stages: ["learn"] });

  await facade.kill();
  const away = await ask(100, 200);
  await give(...away);
  await facade.start();
  const late = await ask(200, 300);
  // Late, doubled, contradictory and withdrawn.
  await give(...late, ...early.slice(70), ...away, ...early.slice(0, 40));
  const [regretted, contradicted] = [early[3], early[4]];
  if (regretted === undefined || contradicted === undefined) throw new Error("no feedback to withdraw");
  await give(feedbackOf(regretted.requestId, { source: "system", withdraws: regretted.id, createdAt: Date.now() }), {
    ...contradicted,
    id: "contradiction",
    value: 0,
    createdAt: contradicted.createdAt + 1,
  });
  const final = await published(
    "all of it",
    ({ metrics, trainedThrough }) => metrics.rewards === 299 && trainedThrough !== null,
  );
  await system.eventually("the last correction", async () => {
    const [row] = await system.session.clickhouse.query<{ received: number }>(
      `SELECT sum(received) AS received FROM rewards FINAL`,
    );
    // 300 first ratings, the one of an unknown request, the withdrawal, the contradiction.
    return row?.received === 303 ? row : undefined;
  });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const newest = policies.at(-1) ?? final;
  const decoded = decodeRouterPolicy(newest);
  if ("problem" in decoded) throw new Error(decoded.problem);
  expectDirect(decoded);
  const versions = policies.map(({ version }) => version);
  expect(versions).toEqual(versions.map((_, i) => i + 1));

  // plan has taken it up without a restart.
  const decision = await system.eventually("a decision by the newest version", async () => {
    const { requestId } = await system.ask("question 301");
    const made = decisions.get(requestId);
    return made?.policyVersion === newest.version ? made : undefined;
  });
  for (const { arm, mean, deviation, context } of decision.arms) {
    const posterior = decoded.arms.get(arm);
    if (posterior === undefined) throw new Error(`nothing learnt of ${arm}`);
    expect(mean).toBeCloseTo(predict(posterior, context).mean, 12);
    expect(deviation).toBeCloseTo(predict(posterior, context).deviation, 12);
  }
});

test("a revert stands until learning is resumed, and no version is given twice", async () => {
  const before = policies.at(-1)?.version ?? 0;
  const first = policies[0];
  const reverted = await revertPolicy(policiesOf(system.session), "router", 1, Date.now());
  expect(reverted).toMatchObject({ version: before + 1, revertOf: 1, body: first?.body });
  await give(...(await ask(302, 330)));
  await system.eventually("28 more rewards", async () => {
    const [row] = await system.session.clickhouse.query<{ rewards: number }>(
      `SELECT sum(rewards) AS rewards FROM arm_hours FINAL`,
    );
    return row?.rewards === 327 ? row : undefined;
  });
  const { requestId } = await system.ask("question 331");
  await system.eventually("the decision", () => Promise.resolve(decisions.get(requestId)));
  expect(decisions.get(requestId)?.policyVersion).toBe(before + 1);
  expect(policies.at(-1)?.version).toBe(before + 1);

  await expect(revertPolicy(policiesOf(system.session), "router", 999, Date.now())).rejects.toThrow("no version 999");
  expect(await resumePolicy(policiesOf(system.session), "router", Date.now())).toMatchObject({
    version: before + 2,
    revertOf: null,
  });
  const learnt = await published("what was learnt meanwhile", ({ version }) => version === before + 3);
  expect(learnt.metrics.rewards).toBe(327);
  await expect(resumePolicy(policiesOf(system.session), "router", Date.now())).rejects.toThrow("is not paused");
});
