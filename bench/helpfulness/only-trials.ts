// bench -- helpfulness --only trials: a helpfulness model that learnt from served trials beside one
// that learnt from direct comparisons (the same request with one example and without). Judged by
// how it ranks the direct comparisons: whether an example that helped stands above one that did
// not. A run that is cut short gives what it has trials for.
import {
  createHelpfulnessFeatures,
  HELPFULNESS_FEATURE_NAMES,
  HELPFULNESS_FEATURES,
} from "../../algorithms/selection/helpfulness-features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { HelpfulnessRow } from "../../connections/training/helpfulness.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { auc, ranked } from "../reuse/figures.ts";
import { resampled } from "../routing/figures.ts";
import { quantile, significant } from "../support/statistics.ts";
import { openAnswers } from "./answers.ts";
import { loadHelpfulnessData } from "./data.ts";
import { benchHelpfulnessModel, labelRows } from "./model.ts";
import { askTrials, labelsOf } from "./trials.ts";

/** Requests; six comparisons each. */
const full = { compared: 150, trials: [450, 900, 1_800] };
const quick = { compared: 20, trials: [60] };
/** Share of requests with a trial, by default (selection.explore.trials). */
const servedShare = 0.02;
const resamples = 2_000;

export async function runTrials(context: BenchContext): Promise<Measured> {
  const size = context.quick ? quick : full;
  const data = await loadHelpfulnessData(context, { train: size.compared, unseen: Math.max(...size.trials), dev: 0 });
  const answers = await openAnswers(context);
  const features = createHelpfulnessFeatures();
  const judges = await labelRows(data, answers, features);
  const { model, kind, metrics } = await benchHelpfulnessModel(context, judges);
  await model.close();
  const trials = await askTrials(context, data, answers, features);
  const rows = [];
  for (const count of size.trials.filter((wanted) => wanted <= trials.length))
    rows.push(await learntFrom(context, labelsOf(trials.slice(0, count)), judges));
  return {
    part: "trials",
    figures: {
      compared: judges.length,
      auc_similarity: intervalOf(judges, judges.map(similarityOf)),
      /** The AUC is the trainer's, on requests held out. */
      direct: { rows: judges.length, kind, auc: significant(metrics["auc"]!) },
      trials: rows,
    },
  };
}

async function learntFrom(context: BenchContext, rows: readonly HelpfulnessRow[], judges: readonly HelpfulnessRow[]) {
  const { model, kind, metrics } = await benchHelpfulnessModel(context, rows);
  try {
    return {
      rows: rows.length,
      requests: Math.round(rows.length / servedShare),
      kind,
      /** What `precedent helpfulness train` asks of a model. */
      published: metrics["auc"]! > metrics["auc_similarity"]!,
      auc: intervalOf(judges, [...(await model.score(featuresOf(judges)))]),
    };
  } finally {
    await model.close();
  }
}

function featuresOf(rows: readonly HelpfulnessRow[]): Float32Array {
  const features = new Float32Array(rows.length * HELPFULNESS_FEATURES);
  for (const [i, row] of rows.entries()) features.set(row.features, i * HELPFULNESS_FEATURES);
  return features;
}

const similarityOf = ({ features }: HelpfulnessRow): number =>
  features[HELPFULNESS_FEATURE_NAMES.indexOf("similarity")]!;

/** Chance that an example that helped is above one that did not; 95 %, bootstrap by request. */
function intervalOf(rows: readonly HelpfulnessRow[], scores: readonly number[]) {
  const order = ranked(scores);
  const helped = Uint8Array.from(rows, ({ effect }) => (effect > 0 ? 1 : 0));
  const requests = rows.map(({ group }) => group);
  const draws = resampled(requests, splitmix64(4), resamples).map((weights) => auc(order, helped, weights));
  return {
    auc: significant(auc(order, helped, new Float64Array(rows.length).fill(1))),
    low: significant(quantile(draws, 0.025)),
    high: significant(quantile(draws, 0.975)),
  };
}
