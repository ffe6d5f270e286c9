// bench -- learning: what the loop earns and costs beside fixed choices, and what the way through
// Kafka and ClickHouse costs it. Part 1, nl2bash: the small model with examples (its answers kept)
// and the recorded references at a price; reward is token F1, so the large arm always earns 1. Part
// 2, a synthetic bandit with known truth on the same loop, beside the same algorithm in memory,
// where nothing is late.
import { join } from "node:path";
import { dot } from "../../algorithms/numeric/matrix.ts";
import { routing as routingSection } from "../../config/sections/learning.ts";
import { normal, splitmix64 } from "../../algorithms/numeric/random.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { onStack } from "../support/stack.ts";
import { mean, significant, spread } from "../support/statistics.ts";
import { loadLearningData, type Item } from "./data.ts";
import { learnInMemory, outcomeOf, regretCurve, savedShare, type Round } from "./memory.ts";
import { runReal } from "./real.ts";
import { scale } from "./scale.ts";

interface Plan {
  items: number;
  requests: number;
  synthetic: number;
  /**
   * Requests a second, of nl2bash and of the synthetic bandit: what the delay costs is the delay
   * times the rate.
   */
  rate: number;
  syntheticRate: number;
  seeds: number;
}
const quick: Plan = { items: 60, requests: 180, synthetic: 90, rate: 20, syntheticRate: 6, seeds: 10 };
const full: Plan = { items: 300, requests: 1_500, synthetic: 1_500, rate: 20, syntheticRate: 6, seeds: 30 };

const arms = [
  { name: "small", cost: 0.05, examples: true },
  { name: "large", cost: 1, examples: false },
];
const prior = { mean: 0.5, variance: 0.25, noise: 0.1 };
const { indifference } = routingSection.parse({});
const costWeight = 0.3;
const sweep = [0, 0.1, 0.2, 0.3, 0.5, 0.7, 1];

export const learning: Benchmark = {
  name: "learning",
  about: "reward and cost of the learning loop beside fixed choices; what its delay costs",
  parts: ["scale"],
  run,
};

async function run(context: BenchContext): Promise<Measured> {
  if (context.only === "scale")
    return onStack(context, join(context.folder, "stack"), (stack) => scale(context, stack));
  const plan = context.quick ? quick : full;
  const data = await loadLearningData(context, plan.items);
  return onStack(context, join(context.folder, "stack"), async ({ folder: stack }) => {
    const real = await context.checkpoints.part("nl2bash", () => nl2bash(context, plan, stack, data));
    const synthetic = await context.checkpoints.part("synthetic", () =>
      syntheticDelay(context, plan, stack, data.items),
    );
    return {
      figures: {
        n: plan.items,
        requests: plan.requests,
        rate_per_s: plan.rate,
        lambda_c: costWeight,
        ...real,
        ...synthetic,
      },
    };
  });
}

async function nl2bash(
  context: BenchContext,
  plan: Plan,
  stack: string,
  { items, pool }: Awaited<ReturnType<typeof loadLearningData>>,
) {
  const random = splitmix64(7);
  const order = Array.from({ length: plan.requests }, () => Math.floor(random() * items.length));
  const rewards = items.map(({ small, references }) => [bestTokenF1(small, references), 1]);
  const bar = context.progress("nl2bash through the real loop", plan.requests, "requests");
  const { decisions, versions } = await runReal({
    stackFolder: stack,
    folder: context.folder,
    answers: items.flatMap(({ request, small, references }) => [
      { request, arm: "small", response: small },
      { request, arm: "large", response: references[0] ?? "" },
    ]),
    arms,
    pool,
    costWeight,
    variances: "estimated",
    questions: order.map((item) => items[item]!.request),
    rate: plan.rate,
    rewardOf: (i, { arm }) => rewards[order[i]!]![arm === "small" ? 0 : 1]!,
    onProgress: bar.update,
    signal: context.signal,
  });
  bar.finish();
  const rounds = order.map((item, i): Round => ({
    contexts: arms.map(({ name }) => decisions[i]!.arms.find(({ arm }) => arm === name)?.context ?? []),
    rewards: rewards[item]!,
  }));
  const chosen = decisions.map(({ arm }) => (arm === "small" ? 0 : 1));
  const options = { arms, costWeight };
  const loop = outcomeOf(rounds, chosen, options);
  const fixed = (arm: number) =>
    outcomeOf(
      rounds,
      rounds.map(() => arm),
      options,
    );
  const [small, large] = [fixed(0), fixed(1)];
  const coin = splitmix64(11);
  const even = outcomeOf(
    rounds,
    rounds.map(() => (coin() < 0.5 ? 0 : 1)),
    options,
  );
  const half = rounds.length >> 1;
  const late = outcomeOf(rounds.slice(half), chosen.slice(half), options);
  const lateSmall = mean(rounds.slice(half).map((round) => round.rewards[0] ?? 0));
  return {
    reward_loop: significant(loop.reward),
    cost_loop: significant(loop.cost),
    reward_small: significant(small.reward),
    cost_small: significant(small.cost),
    reward_large: significant(large.reward),
    cost_large: significant(large.cost),
    reward_random: significant(even.reward),
    cost_random: significant(even.cost),
    reward_copy: significant(mean(order.map((item) => bestTokenF1(items[item]!.copy, items[item]!.references)))),
    saved_share: rounded(savedShare(loop.reward, loop.largeShare, small.reward, large.reward)),
    saved_share_second_half: rounded(savedShare(late.reward, late.largeShare, lateSmall, 1)),
    regret: {
      loop: significant(loop.regret),
      small: significant(small.regret),
      large: significant(large.regret),
      random: significant(even.regret),
    },
    regret_curve: regretCurve(rounds, chosen, options).map(([requests, regret]) => [requests, significant(regret)]),
    policy_versions: versions,
    over_time: quarters(rounds, chosen),
    // In memory, on the contexts that the real loop logged: mean over seeds.
    sweep: sweep.map((weight) => {
      const runs = Array.from({ length: plan.seeds }, (_, seed) =>
        outcomeOf(
          rounds,
          learnInMemory(rounds, { arms, costWeight: weight, prior, indifference, random: splitmix64(seed) }),
          {
            arms,
            costWeight: weight,
          },
        ),
      );
      const [reward, cost, share] = [
        mean(runs.map((one) => one.reward)),
        mean(runs.map((one) => one.cost)),
        mean(runs.map((one) => one.largeShare)),
      ];
      const saved = rounded(savedShare(reward, share, small.reward, large.reward));
      return {
        lambda_c: weight,
        reward: significant(reward),
        cost: significant(cost),
        large_share: significant(share),
        saved_share: saved,
      };
    }),
  };
}

function quarters(rounds: readonly Round[], chosen: readonly number[]) {
  const size = Math.ceil(rounds.length / 4);
  return [0, 1, 2, 3].map((quarter) => {
    const [from, to] = [quarter * size, Math.min(rounds.length, (quarter + 1) * size)];
    const { reward, cost, largeShare } = outcomeOf(rounds.slice(from, to), chosen.slice(from, to), {
      arms,
      costWeight,
    });
    return { requests: to, reward: significant(reward), cost: significant(cost), large_share: significant(largeShare) };
  });
}

/**
 * Truth: for each arm fixed weights on the context; reward = theta . x + noise. Regret is that of
 * the expected reward.
 */
async function syntheticDelay(context: BenchContext, plan: Plan, stack: string, items: readonly Item[]) {
  const random = splitmix64(23);
  const theta = arms.map((_, arm) =>
    Array.from({ length: 24 }, (__, k) => (k === 0 ? 0.45 + 0.15 * arm : k < 18 ? 0.5 * normal(random) : 0)),
  );
  const expected = (arm: number, x: readonly number[]): number => Math.min(1, Math.max(0, dot(theta[arm]!, x)));
  const noise = Array.from({ length: plan.synthetic }, () => 0.1 * normal(random));
  const order = Array.from({ length: plan.synthetic }, () => Math.floor(random() * items.length));
  const bar = context.progress("the synthetic bandit through the real loop", plan.synthetic, "requests");
  const { decisions, versions } = await runReal({
    stackFolder: stack,
    folder: context.folder,
    answers: items
      .map(({ request }) => ({ request, arm: "small", response: "-" }))
      .flatMap((line) => [line, { ...line, arm: "large" }]),
    arms,
    pool: [],
    costWeight: 0,
    variances: "fixed",
    questions: order.map((item) => items[item]!.request),
    rate: plan.syntheticRate,
    rewardOf: (i, decision) => {
      const arm = decision.arm === "small" ? 0 : 1;
      const x = decision.arms.find(({ arm: name }) => name === decision.arm)?.context ?? [];
      return Math.min(1, Math.max(0, expected(arm, x) + noise[i]!));
    },
    onProgress: bar.update,
    signal: context.signal,
  });
  bar.finish();
  const contexts = decisions.map((decision) =>
    arms.map(({ name }) => decision.arms.find(({ arm }) => arm === name)?.context ?? []),
  );
  const truth = contexts.map((xs): Round => ({ contexts: xs, rewards: xs.map((x, arm) => expected(arm, x)) }));
  const noisy = truth.map(({ contexts: xs, rewards }, i): Round => ({
    contexts: xs,
    rewards: rewards.map((value) => Math.min(1, Math.max(0, value + noise[i]!))),
  }));
  const options = { arms, costWeight: 0 };
  const real = outcomeOf(
    truth,
    decisions.map(({ arm }) => (arm === "small" ? 0 : 1)),
    options,
  ).regret;
  const memory = Array.from(
    { length: plan.seeds },
    (_, seed) =>
      outcomeOf(
        truth,
        learnInMemory(noisy, { ...options, prior, indifference, random: splitmix64(1_000 + seed) }),
        options,
      ).regret,
  );
  return {
    delay_ratio: significant(real / mean(memory)),
    delay_regret: significant(real),
    memory_regret: significant(mean(memory)),
    memory_regret_spread: spread(memory.map((value) => significant(value))),
    random_regret: significant(
      mean(
        [0, 1].map(
          (arm) =>
            outcomeOf(
              truth,
              truth.map(() => arm),
              options,
            ).regret,
        ),
      ),
    ),
    synthetic_requests: plan.synthetic,
    synthetic_rate_per_s: plan.syntheticRate,
    synthetic_versions: versions,
  };
}

const rounded = (value: number | null): number | null => (value === null ? null : significant(value));
