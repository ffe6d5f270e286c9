// The helpfulness model and the threshold on the real servers: requests with examples tried on
// them, rewarded by what was shown; rows, training, publishing, swapping while requests flow,
// refusing what is broken, and the ways back.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { HELPFULNESS_FEATURES, HELPFULNESS_FEATURE_VERSION } from "../../algorithms/selection/helpfulness-features.ts";
import { openPolicyLog } from "../../pipelines/policies.ts";
import { helpfulnessRows } from "../../pipelines/learn/train-helpfulness.ts";
import { runCommand, type CapturedOutput } from "../../cli/run.testing.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { linearModel } from "../../connections/helpfulness/model.testing.ts";
import { encodeHelpfulnessBody, HELPFULNESS, HELPFULNESS_KIND } from "../../state/policies/helpfulness.ts";
import { triedThresholds } from "../../operators/select/explore.ts";
import { encodeThresholdBody, THRESHOLD, THRESHOLD_KIND } from "../../state/policies/threshold.ts";
import type { ArmScore, Decision, Example, Policy, Response } from "../../schemas/types.ts";
import { follow } from "../support/follow.ts";
import { feedbackOf } from "../support/learning.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

// Far apart for the embedder: none is another's near-duplicate.
const topics =
  "compress a folder with tar|show free disk space|count lines of a file|kill a process by name|list open network ports|print a calendar|download a web page|encrypt a file".split(
    "|",
  );
/** Good examples were rated well when they were admitted; nothing else tells them from bad ones. */
const isGood = (id: string): boolean => Number(id.slice(1)) % 2 === 0;
const questions = 20_000;

let folder: string;
let system: TestSystem;
let asked = 0;
const decisions = new Map<string, Decision>();
const policies: Policy[] = [];
const rewards = new Map<string, number>();
const tails: { stop(): Promise<void> }[] = [];
let producer: ReturnType<TestSystem["session"]["kafka"]["plainProducer"]>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-helpfulness-"));
  const file = join(folder, "log.jsonl");
  const lines = Array.from({ length: questions }, (_, i) =>
    JSON.stringify({ request: question(i), response: `answer ${i}` }),
  );
  await writeFile(file, lines.join("\n"));
  system = await startSystem(
    {
      selection: {
        examples: 2,
        minimumSimilarity: -1,
        explore: { trials: 0.45, thresholds: 0.45, orders: 0 },
      },
      learn: {
        everyMs: 100,
        settleMs: 0,
        helpfulness: { minimumRows: 50 },
        threshold: { minimumRequests: 12, tokenPrice: 0 },
      },
      arms: [
        { name: "small", type: "recorded", file, cost: 0.1 },
        { name: "large", type: "recorded", file, cost: 1, examples: false },
      ],
    },
    { stages: ["plan", "generate", "record", "learn"] },
  );
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify(system.config));
  tails.push(await follow(system.session, "decisions", (decision) => decisions.set(decision.requestId, decision)));
  tails.push(await follow(system.session, "policies", (policy) => policies.push(policy)));
  producer = system.session.kafka.plainProducer();
  await publishExamples();
});
afterAll(async () => {
  await producer.close();
  await Promise.all(tails.map((tail) => tail.stop()));
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

function question(i: number): string {
  return `${topics[i % topics.length]} for case ${i}`;
}

async function publishExamples(): Promise<void> {
  const { codec, topic, log } = system.session;
  const embedder = await openEmbedder(system.config, { log });
  const examples = await Promise.all(
    topics.map(async (request, i): Promise<Example> => {
      const id = `e${i}`;
      return {
        id,
        tenant: "default",
        domain: "default/default",
        request,
        response: `how to ${request}`,
        embedding: embeddingToBytes(await embedder.embed(request)),
        embeddingModel: embedder.model,
        source: { arm: "large", model: "recorded", requestId: null },
        quality: isGood(id) ? 0.95 : 0.25,
        bytes: 100,
        expiresAt: null,
        replays: 0,
        createdAt: Date.now(),
      };
    }),
  );
  await embedder.close();
  const value = (one: Example) => codec.encode("examples", one);
  await producer.send(
    examples.map((one) => ({ topic: topic("examples"), key: `${one.domain}/${one.id}`, value: value(one) })),
  );
  await system.eventually("a request that is shown examples", async () => {
    const { requestId } = await ask();
    const shown = chosen(await decided(requestId)).examples;
    return shown.length === 2 ? shown : undefined;
  });
}

const ask = (): Promise<Response> => system.ask(question(asked++), { allow: onlySmall });
const onlySmall = { arms: ["small"], maxCost: null, deadlineMs: null, costWeight: null };
const decided = (requestId: string): Promise<Decision> =>
  system.eventually("the decision", () => Promise.resolve(decisions.get(requestId)));
function chosen(decision: Decision): ArmScore {
  const score = decision.arms.find(({ arm }) => arm === decision.arm);
  if (score === undefined) throw new Error("the chosen arm is not scored");
  return score;
}

/** Asks and rewards as `worth` says. Any arm may answer unless `arms` says otherwise. */
async function rewarded(
  count: number,
  worth: (decision: Decision, i: number) => number,
  arms: string[] | null = null,
): Promise<Decision[]> {
  const numbers = Array.from({ length: count }, () => asked++);
  const answers = await Promise.all(numbers.map((i) => system.ask(question(i), { allow: { ...onlySmall, arms } })));
  const made = await Promise.all(answers.map(({ requestId }) => decided(requestId)));
  const { codec, topic } = system.session;
  const messages = made.map((decision, k) => {
    const { requestId } = decision;
    const value = worth(decision, numbers[k] ?? 0);
    rewards.set(requestId, value);
    const feedback = feedbackOf(requestId, { kind: "reward", value, source: "system", createdAt: Date.now() });
    return { topic: topic("feedback"), key: requestId, value: codec.encode("feedback", feedback) };
  });
  await producer.send(messages);
  await system.eventually("the rewards", async () => {
    const [row] = await system.session.clickhouse.query<{ count: number }>(
      `SELECT count() AS count FROM rewards AS reward FINAL INNER JOIN (SELECT request_id FROM decisions FINAL) AS decision USING (request_id)`,
    );
    return row?.count === rewards.size ? row : undefined;
  });
  return made;
}

/**
 * Good examples help and bad ones hurt: the one that was tried, where one was, by its being there
 * or not; else those that were shown.
 */
function worthOfShown(decision: Decision, i: number): number {
  const { examples, trial } = chosen(decision);
  const of = (id: string): number => (isGood(id) ? 1 : -1);
  const shown = examples.reduce((sum, { id }) => sum + of(id), 0) / Math.max(1, examples.length);
  const balance = trial === null ? shown : trial.shown ? of(trial.id) : -of(trial.id);
  return 0.5 + 0.4 * balance + ((i % 11) - 5) / 100;
}

const precedent = (...given: string[]): Promise<CapturedOutput> =>
  runCommand(folder, ["-c", join(folder, "precedent.yaml"), ...given], process.env);

/** What a command says that must succeed. */
async function output(...given: string[]): Promise<string> {
  const { code, out, note } = await precedent(...given);
  if (code !== 0) throw new Error(`precedent ${given.join(" ")} ended with ${code}: ${note}`);
  return out;
}

const publishedAs = (name: string, version: number): Promise<Policy> =>
  system.eventually(
    `${name} ${version}`,
    async () => {
      const [row] = await system.session.clickhouse.query(
        "SELECT version FROM policies FINAL WHERE name = {name:String} AND version = {version:UInt64}",
        { name, version },
      );
      return row === undefined
        ? undefined
        : policies.find((policy) => policy.name === name && policy.version === version);
    },
    30_000,
  );

/** Appends a version as a process beside the learner. */
async function append(name: string, make: (version: number) => Policy): Promise<Policy> {
  const log = openPolicyLog(system.session, name);
  try {
    return await log.append(make);
  } finally {
    await log.close();
  }
}
const helpfulnessPolicy =
  (onnx: Uint8Array, more: Partial<Policy> = {}) =>
  (version: number): Policy => ({
    name: HELPFULNESS,
    tenant: "default",
    version,
    kind: HELPFULNESS_KIND,
    ...encodeHelpfulnessBody(onnx),
    reference: null,
    featureVersion: HELPFULNESS_FEATURE_VERSION,
    trainedThrough: null,
    metrics: {},
    revertOf: null,
    createdAt: Date.now(),
    ...more,
  });

/** Requests without end, four at a time, until stopped; resolves to every response. */
function flow(): { stop(): Promise<Response[]> } {
  let isOver = false;
  const answered: Response[] = [];
  const run = async (): Promise<void> => {
    while (!isOver) {
      answered.push(await ask());
      // The job that trains is the last to get a core.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // What is in force at the end is seen by these, too, however short it has been.
    answered.push(await ask());
  };
  const runs = Promise.all([run(), run(), run(), run()]);
  return {
    async stop() {
      isOver = true;
      await runs;
      return answered;
    },
  };
}
const decidedBy = (version: number): Promise<Decision> =>
  system.eventually(
    `a decision by helpfulness model ${version}`,
    async () => {
      const decision = await decided((await ask()).requestId);
      return decision.helpfulnessVersion === version ? decision : undefined;
    },
    30_000,
  );
/**
 * Every request of the flow was answered once, and none went without the helpfulness model for want
 * of it.
 */
async function expectWhole(answered: readonly Response[]): Promise<Set<number>> {
  const made = await Promise.all(answered.map(({ requestId }) => decided(requestId)));
  expect(answered.filter(({ status }) => status !== "ok")).toEqual([]);
  expect(answered.filter(({ requestId }) => system.responses.get(requestId)?.length !== 1)).toEqual([]);
  expect(made.filter(({ degraded }) => degraded.length > 0)).toEqual([]);
  return new Set(made.map(({ helpfulnessVersion }) => helpfulnessVersion));
}
async function figure(name: string): Promise<number | undefined> {
  const values = (await system.session.metrics.getSingleMetric(name)?.get())?.values ?? [];
  return values.find(({ labels }) => labels.policy === HELPFULNESS)?.value;
}

test("rows of trials are those of the log", async () => {
  // What was merely shown is evidence only where the router had learnt something.
  const early = await rewarded(20, worthOfShown);
  await system.eventually("a decision of a learnt router", async () => {
    const { policyVersion } = await decided((await ask()).requestId);
    return policyVersion > 0 ? policyVersion : undefined;
  });
  const made = [...early, ...(await rewarded(220, worthOfShown))];
  const trials = made.flatMap((decision) => {
    const { arm, model, trial } = chosen(decision);
    const reward = rewards.get(decision.requestId) ?? NaN;
    return trial === null ? [] : [{ of: `${arm}/${model}`, trial, reward, probability: decision.probability }];
  });
  expect(trials.length).toBeGreaterThan(40);
  const direct = trials.map(({ of, trial, reward, probability }, i) => {
    const others = trials.flatMap((one, k) => (k !== i && one.of === of ? [one.reward] : []));
    const expected = (others.reduce((sum, one) => sum + one, 0) + 0.5) / (others.length + 1);
    const p = trial.probability;
    return {
      features: trial.features,
      effect: ((reward - expected) * (Number(trial.shown) - p)) / (p * (1 - p)),
      weight: Math.min(1 / probability, 10),
    };
  });
  const { rows, kinds } = await helpfulnessRows(system.session.clickhouse, 10_000);
  expect(kinds.trial).toBe(trials.length);
  expect(kinds.observed).toBeGreaterThan(0);
  // Numbers are compared as numbers: cut to digits, what lies half-way between two falls to either
  // side.
  type Row = { features: readonly number[]; effect: number; weight: number };
  const inOrder = (some: readonly Row[]): Row[] =>
    some
      .map((row) => ({ ...row, features: row.features.map(Math.fround) }))
      .sort((one, other) => (one.features.join() < other.features.join() ? -1 : 1));
  const found = inOrder(rows.slice(0, kinds.trial));
  for (const [i, row] of inOrder(direct).entries()) {
    expect(found[i]?.features).toEqual(row.features);
    expect(found[i]?.effect).toBeCloseTo(row.effect, 5);
    expect(found[i]?.weight).toBeCloseTo(row.weight, 5);
  }
});

// Python and its packages may have to be fetched first.
test(
  "a helpfulness model is trained, published, and swapped in while requests flow; it prefers what helps",
  { timeout: 900_000 },
  async () => {
    expect(await figure("precedent_policy_version")).toBe(0);
    const requests = flow();
    const training = JSON.parse(await output("helpfulness", "train", "--rows", "200", "--json")) as {
      outcome: string;
      version: number;
      metrics: Record<string, number>;
    };
    expect(training).toMatchObject({ outcome: "published", version: 1 });
    expect(training.metrics.auc).toBeGreaterThan(training.metrics.auc_similarity ?? 1);
    await decidedBy(1);
    const versions = await expectWhole(await requests.stop());
    expect([...versions].sort()).toEqual([0, 1]);
    expect(await figure("precedent_policy_version")).toBe(1);

    const shown = [...decisions.values()].flatMap((decision) =>
      decision.helpfulnessVersion === 1 ? chosen(decision).examples : [],
    );
    const helpfulness = (good: boolean): number => {
      const own = shown.filter(({ id, explored }) => !explored && isGood(id) === good);
      return own.reduce((sum, one) => sum + one.helpfulness, 0) / Math.max(1, own.length);
    };
    expect(helpfulness(true)).toBeGreaterThan(helpfulness(false));
    const policy = await publishedAs(HELPFULNESS, 1);
    expect(policy.trainedThrough).not.toBeNull();
    const described = await output("helpfulness", "show");
    expect(described).toContain("helpfulness 1 (helpfulness/onnx/1");
    expect(described).toContain("trials");
  },
);

test("a broken helpfulness model is refused and the old one stays; a good one takes over; revert and resume", async () => {
  const zeros = new Array<number>(HELPFULNESS_FEATURES).fill(0);
  const requests = flow();
  const broken = [
    helpfulnessPolicy(linearModel(zeros, Number.NaN)),
    helpfulnessPolicy(linearModel(zeros.slice(1), 0.5)),
    helpfulnessPolicy(Uint8Array.of(1, 2, 3)),
    helpfulnessPolicy(linearModel(zeros, 0.5), { hash: "0".repeat(64) }),
    helpfulnessPolicy(linearModel(zeros, 0.5), { featureVersion: HELPFULNESS_FEATURE_VERSION + 1 }),
  ];
  for (const make of broken) {
    await append(HELPFULNESS, make);
    await system.eventually("the refusal", async () =>
      (await figure("precedent_policy_refused")) === 1 ? true : undefined,
    );
    expect((await decidedBy(1)).degraded).toEqual([]);
  }
  const good = await append(HELPFULNESS, helpfulnessPolicy(linearModel(zeros, 0.75)));
  expect(good.version).toBe(7);
  const byLinear = await decidedBy(7);
  expect(chosen(byLinear).examples.every(({ helpfulness }) => helpfulness === 0.75)).toBe(true);
  expect(await figure("precedent_policy_refused")).toBe(0);
  await publishedAs(HELPFULNESS, 7);

  expect(await output("policy", "revert", "helpfulness", "1")).toContain("helpfulness 8 repeats 1");
  await decidedBy(8);
  expect([...(await expectWhole(await requests.stop()))].sort()).toEqual([1, 7, 8]);
  expect(await precedent("helpfulness", "train", "--force")).toMatchObject({
    code: 1,
    note: expect.stringContaining("precedent policy resume helpfulness"),
  });
  await output("policy", "resume", "helpfulness");
  await decidedBy(9);
  expect((await publishedAs(HELPFULNESS, 9)).body).toBe((await publishedAs(HELPFULNESS, 1)).body);
});

test("the threshold that earns most is learnt and applied; a revert pauses that", async () => {
  const tau = ({ exploredThreshold, threshold }: Decision): number => exploredThreshold ?? threshold;
  const made = await rewarded(320, (decision, i) => (tau(decision) === 0.6 ? 0.8 : 0.4) + (i % 7) / 100, ["small"]);
  expect(new Set(made.map(tau))).toEqual(new Set(triedThresholds));
  expect(JSON.parse((await publishedAs(THRESHOLD, 1)).body)).toMatchObject({ threshold: 0.6 });
  const inForce = (threshold: number): Promise<Decision> =>
    system.eventually(`threshold ${threshold}`, async () => {
      const decision = await decided((await ask()).requestId);
      return decision.threshold === threshold ? decision : undefined;
    });
  await inForce(0.6);

  // A worse one is published: learning corrects it.
  await append(THRESHOLD, (version) => ({
    ...helpfulnessPolicy(Uint8Array.of(1))(version),
    name: THRESHOLD,
    kind: THRESHOLD_KIND,
    body: encodeThresholdBody({ threshold: 0.4, grid: [] }),
    hash: null,
  }));
  expect(JSON.parse((await publishedAs(THRESHOLD, 3)).body)).toMatchObject({ threshold: 0.6 });

  // Reverted to it, it stands until learning is resumed.
  await publishedAs(THRESHOLD, 2);
  expect(await output("policy", "revert", "threshold")).toContain("threshold 4 repeats 2");
  await inForce(0.4);
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  expect(policies.filter(({ name }) => name === THRESHOLD).at(-1)?.version).toBe(4);
  await output("policy", "resume", "threshold");
  expect(JSON.parse((await publishedAs(THRESHOLD, 6)).body)).toMatchObject({ threshold: 0.6 });
  await inForce(0.6);
});

test("a tombstone takes the helpfulness model away", async () => {
  await producer.send([{ topic: system.session.topic("policies"), key: HELPFULNESS, value: null }]);
  const decision = await decidedBy(0);
  expect(decision.degraded).toEqual([]);
  expect(decision.threshold).toBe(0);
});
