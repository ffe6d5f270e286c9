// bench -- routing: is the router worth more than any single arm, and than simpler routers, on logs
// of strangers' requests with every arm's graded answer? Mixed traffic of seven models without
// prices and of eleven with, and RouteLLM's measures on one task and two models. With --data a file
// of any number of arms takes their place.
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { routing as routingSection } from "../../config/sections/learning.ts";
import type { BenchContext, Benchmark, Figures, Measured } from "../benchmark.ts";
import { readDataFile } from "../support/data-file.ts";
import { shuffled } from "../support/samples.ts";
import { contextsOf } from "./contexts.ts";
import { parseRoutingLog } from "./data.ts";
import { figuresOf } from "./figures.ts";
import { isTwoModelLog, parseMixedLog, type MixedLog } from "./log.ts";
import { measureLog } from "./mixed.ts";
import type { Field } from "./passes.ts";
import { measureDominated, measureFeedback } from "./special.ts";
import { measureTwoModels } from "./two-models.ts";
import { costWeights, priced } from "./worth.ts";

interface Plan {
  orders: number;
  resamples: number;
  /** Rows of a log that are looked at, and their answers: rows times arms. */
  rows: number;
  seen: number;
  /** Rows times arms times cost weights of all passes: of larger logs fewer orders are run. */
  answers: number;
}
const quick: Plan = { orders: 1, resamples: 400, rows: 500, seen: 5_000, answers: 40_000 };
const full: Plan = { orders: 8, resamples: 2_000, rows: Infinity, seen: Infinity, answers: 1_400_000 };
/** Fewest rows of a sample. */
const fewest = 60;

export const routing: Benchmark = {
  name: "routing",
  about: "gain of the router over single arms and simpler routers on logs of graded answers",
  run,
};

async function run(context: BenchContext): Promise<Measured> {
  if (context.data !== undefined) {
    const { text, file } = await readDataFile(context.data, "");
    const { figures, reasons = {} } = await measure("data", parseMixedLog(text, file), context);
    if (!isTwoModelLog(text)) return { figures: { data: figures }, reasons: prefixed("data", reasons), part: "data" };
    const two = await measureTwoModels(parseRoutingLog(text, file), context);
    return {
      figures: { ...two.figures, data: figures },
      reasons: { ...two.reasons, ...prefixed("data", reasons) },
      part: "data",
    };
  }
  const two = await readDataFile(undefined, "gsm8k-two-models-a.jsonl");
  const { figures, reasons = {} } = await context.checkpoints.part("two models", () =>
    measureTwoModels(parseRoutingLog(two.text, two.file), context),
  );
  const all: Figures = { ...figures };
  for (const [name, usual] of [
    ["seven", "seven-models-a.jsonl"],
    ["priced", "eleven-models-priced-a.jsonl"],
  ] as const) {
    const { text, file } = await readDataFile(undefined, usual);
    const measured = await measure(name, parseMixedLog(text, file), context);
    all[name] = measured.figures;
    Object.assign(reasons, prefixed(name, measured.reasons ?? {}));
  }
  const { dominated } = all.seven as Figures;
  return { figures: { ...all, dominated }, reasons, ...(context.domains === true && { part: "domains" }) };
}

const prefixed = (name: string, reasons: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(reasons).map(([key, why]) => [`${name}.${key}`, why]));

async function measure(name: string, given: MixedLog, context: BenchContext): Promise<Measured> {
  const plan = context.quick ? quick : full;
  const most = Math.max(fewest, Math.min(plan.rows, Math.floor(plan.seen / given.arms.length)));
  const rows = given.rows.length > most ? shuffled(given.rows, 11).slice(0, most) : given.rows;
  const log = priced({ ...given, rows });
  const requests = rows.map(({ request }) => request);
  const settings = routingSection.parse({});
  const field: Field = {
    log,
    contexts: await contextsOf(requests, context),
    learner: { prior: settings, indifference: settings.indifference, every: 8 },
    domains: context.domains === true,
  };
  const answers = rows.length * log.arms.length * (log.priced ? costWeights.length : 1);
  const orders = Math.max(1, Math.min(plan.orders, Math.floor(plan.answers / answers)));
  const measured = await measureLog(name, field, { orders }, context);
  const { figures, reasons } = figuresOf(measured, requests, splitmix64(5), plan.resamples);
  const few = Math.max(1, orders >> 1);
  const dominated = await measureDominated(name, field, few, context);
  for (const figure of ["lost_share", "lost_share_close"] as const)
    if (dominated[figure] === null) reasons[`dominated.${figure}`] = "400 requests or fewer";
  return {
    figures: {
      ...{ n: rows.length, prompts: new Set(requests).size, arms: log.arms, priced: log.priced, orders },
      ...{ tasks: new Set(rows.flatMap(({ task }) => task ?? [])).size, domains: field.domains },
      ...{ best_arm: Object.fromEntries(measured.map(({ weight, bestArm }) => [weight, bestArm])) },
      feature_version: FEATURE_VERSION,
      ...figures,
      feedback: await measureFeedback(name, field, few, context),
      dominated,
    },
    reasons,
  };
}
