// learn: new rows become sums, posteriors and the router policy; thresholds, reuse bounds and
// retracted cache entries; unrated answers are judged. A singleton (runtime/singleton.ts),
// repeated; a pass may break off anywhere.
import type { Aggregate } from "../../operators/aggregate/aggregate.ts";
import type { JudgingAgenda } from "../../operators/judge/unrated.ts";
import type { ChosenThreshold, ReuseCase, Solved } from "../../operators/learnt.ts";
import type { Published } from "../../operators/publish/publish.ts";
import { createSolve, type SolveDependencies } from "../../operators/solve/solve.ts";
import type { Retracted } from "../../operators/retract/retract.ts";
import { createVerifyReuse, type VerifyReuseDependencies, type ReuseDomains } from "../../operators/solve/reuse.ts";
import { createChoose, type ChooseDependencies } from "../../operators/solve/threshold.ts";
import type { Declaration } from "../../runtime/declaration.ts";
import { pass } from "../../runtime/pass.ts";
import type { Policy } from "../../schemas/types.ts";

export interface LearnDependencies extends SolveDependencies {
  aggregate: Aggregate;
  publish: (solved: Solved) => Promise<Published>;
}

export interface LearnThresholdDependencies extends ChooseDependencies {
  publish: (chosen: ChosenThreshold) => Promise<Policy | null>;
}

export interface LearnReuseDependencies extends VerifyReuseDependencies {
  cases: () => Promise<ReuseCase[]>;
  publish: (domains: ReuseDomains) => Promise<Policy | null>;
}

export interface JudgeUnratedDependencies {
  agenda: () => Promise<JudgingAgenda>;
  judgeAll: (agenda: JudgingAgenda) => Promise<number>;
}

const declaration = {
  name: "learn",
  sources: ["ClickHouse"],
  // The versions in force; how busy the arms are that plan calls itself.
  tables: ["policies", "inline-calls"],
  outputs: ["policies", "ClickHouse"],
  // Tombstones; what the automatic judge says.
  beside: ["response-cache", "feedback"],
} as const satisfies Declaration;

const router = pass<LearnDependencies>()
  .step("aggregate", ({ aggregate }) => aggregate.advance)
  .step("solve", createSolve)
  .step("publish", ({ publish }) => async ({ solved }) => ({ published: await publish(solved) }))
  .end();

/** Publishes a better threshold. `published`: its version; null: none was published. */
export const learnThreshold = pass<LearnThresholdDependencies>()
  .step("threshold", createChoose)
  .step("publish-threshold", ({ publish }) => async ({ chosen }) => ({ published: await publish(chosen) }))
  .end();

export const retractAnswers = pass<{ retract: () => Promise<Retracted> }>()
  .step("retract", ({ retract }) => retract)
  .end();

/** Publishes error bounds of reuse. `published`: their version; null: none was published. */
export const learnReuse = pass<LearnReuseDependencies>()
  .step("reuse-trials", ({ cases }) => async () => ({ cases: await cases() }))
  .step("verify-reuse", createVerifyReuse)
  .step("publish-reuse", ({ publish }) => async ({ domains }) => ({ published: await publish(domains) }))
  .end();

/** Unrated answers, where learn.judge names a judge. */
export const judgeUnrated = pass<JudgeUnratedDependencies>()
  .step("unrated", ({ agenda }) => agenda)
  .step("judge-unrated", ({ judgeAll }) => async (agenda) => ({ judged: await judgeAll(agenda) }))
  .end();

export const learn = {
  ...declaration,
  ...router,
  operators: [router, learnThreshold, retractAnswers, learnReuse, judgeUnrated].flatMap(({ operators }) => operators),
} as const;
