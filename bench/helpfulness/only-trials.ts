// bench -- helpfulness --only trials: a helpfulness model that learnt from served trials beside one
// that learnt from direct comparisons (the same request with one example and without). Judged by
// how it orders direct comparisons that neither saw, and by the F1 of the answers with its five
// examples.
import {
  createHelpfulnessFeatures,
  HELPFULNESS_FEATURE_NAMES,
  HELPFULNESS_FEATURES,
} from "../../algorithms/selection/helpfulness-features.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import type { HelpfulnessRow } from "../../connections/training/helpfulness.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { auc, ranked } from "../reuse/figures.ts";
import { pairedBootstrap } from "../support/bootstrap.ts";
import { mean, significant } from "../support/statistics.ts";
import { openAnswers } from "./answers.ts";
import { loadHelpfulnessData } from "./data.ts";
import { benchHelpfulnessModel, labelRows, qualityOf } from "./model.ts";
import { withExamples, withNearest } from "./treatments.ts";
import { trialRows } from "./trials.ts";
import { chooseTwoStage, rateCandidates } from "./two-stage.ts";

const examples = 5;
/** Six comparisons each. */
const full = { compared: 150, judged: 60, trials: [900, 1_800], dev: 200 };
const quick = { compared: 20, judged: 10, trials: [60], dev: 10 };
/** Of requests, by default (selection.explore.trials). */
const servedShare = 0.02;

export async function runTrials(context: BenchContext): Promise<Measured> {
  const size = context.quick ? quick : full;
  const most = Math.max(...size.trials);
  const data = await loadHelpfulnessData(context, {
    train: size.compared,
    unseen: size.judged + most,
    dev: size.dev,
  });
  const answers = await openAnswers(context);
  const features = createHelpfulnessFeatures();
  const direct = await labelRows(data, answers, features);
  const judges = await labelRows({ ...data, train: data.unseen.slice(0, size.judged) }, answers, features);
  const trials = await trialRows(data, data.unseen.slice(size.judged), answers, features);
  const nearest = data.dev.map((question) => withNearest(data, question, examples));
  await answers.ask(nearest, "similar");
  const qualities = (prompts: typeof nearest): number[] =>
    data.dev.map((question, i) => qualityOf(answers.of(prompts[i]!).text, question));
  const similar = qualities(nearest);

  const learners = [
    { from: "direct", rows: direct, requests: null },
    ...size.trials.map((count) => ({
      from: "trials",
      rows: trials.slice(0, count),
      requests: Math.round(count / servedShare),
    })),
  ];
  const rows = [];
  for (const { from, rows: learnt, requests } of learners) {
    const { model, kind, metrics } = await benchHelpfulnessModel(context, learnt);
    try {
      const prompts = [];
      for (const question of data.dev) {
        const { shown } = chooseTwoStage(question, await rateCandidates(data, question, features, model), examples);
        prompts.push(withExamples(data, question, shown));
      }
      await answers.ask(prompts, `${from}, ${learnt.length} rows`);
      const chosen = qualities(prompts);
      const { difference, low, high } = pairedBootstrap(chosen, similar, { random: splitmix64(3) });
      rows.push({
        from,
        rows: learnt.length,
        requests,
        kind,
        published: metrics["auc"]! > metrics["auc_similarity"]!,
        auc: significant(aucOf(judges, [...(await model.score(featuresOf(judges)))])),
        f1: significant(mean(chosen)),
        less_similar: { difference: significant(difference), low: significant(low), high: significant(high) },
      });
    } finally {
      await model.close();
    }
  }
  return {
    part: "trials",
    figures: {
      judged: judges.length,
      n: size.dev,
      examples,
      f1_similar: significant(mean(similar)),
      auc_similar: significant(aucOf(judges, judges.map(similarityOf))),
      rows,
    },
  };
}

function featuresOf(rows: readonly HelpfulnessRow[]): Float32Array {
  const features = new Float32Array(rows.length * HELPFULNESS_FEATURES);
  for (const [i, row] of rows.entries()) features.set(row.features, i * HELPFULNESS_FEATURES);
  return features;
}

const similarityOf = ({ features }: HelpfulnessRow): number =>
  features[HELPFULNESS_FEATURE_NAMES.indexOf("similarity")]!;

/** Chance that an example that helped is above one that did not. */
const aucOf = (rows: readonly HelpfulnessRow[], scores: readonly number[]): number =>
  auc(
    ranked(scores),
    Uint8Array.from(rows, ({ effect }) => (effect > 0 ? 1 : 0)),
    new Float64Array(rows.length).fill(1),
  );
