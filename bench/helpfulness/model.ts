// The helpfulness model of the helpfulness benchmark: labels by the real model (the same request
// with one example and without any), rows by the features that are served, training by the job that
// `precedent helpfulness train` runs. What came out is kept under a hash of the rows.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type CandidateFacts,
  HELPFULNESS_FEATURES,
  type HelpfulnessFeatures,
} from "../../algorithms/selection/helpfulness-features.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import { loadHelpfulnessModel } from "../../connections/helpfulness/onnx.ts";
import type { HelpfulnessModel } from "../../connections/helpfulness/port.ts";
import { type HelpfulnessRow, trainHelpfulness } from "../../connections/training/helpfulness.ts";
import { createLog } from "../../runtime/log.ts";
import type { BenchContext } from "../benchmark.ts";
import type { Answers } from "./answers.ts";
import type { HelpfulnessData, Question } from "./data.ts";
import { labelled, withExamples, withoutExamples } from "./treatments.ts";

/** Cost of the measured arm, as in bench -- learning. */
export const arm = { cost: 0.05 };

/** Nothing is known of the pool's pairs but their texts. */
export const factsOf = ({ pool, vectors }: HelpfulnessData, { candidates }: Question): CandidateFacts[] =>
  candidates.map(({ index, similarity }) => ({
    ...pool[index]!,
    vector: vectors[index]!,
    similarity,
    quality: 1,
    sourceCost: null,
    uses: 0,
    outcome: null,
  }));

/** Asks the model for what is missing. */
export async function labelRows(
  data: HelpfulnessData,
  answers: Answers,
  features: HelpfulnessFeatures,
): Promise<HelpfulnessRow[]> {
  await answers.ask(
    data.train.flatMap((question, i) => [
      withoutExamples(question),
      ...labelled(question, i).map((neighbour) => withExamples(data, question, [neighbour])),
    ]),
    "labels: training requests with one example and without",
  );
  return data.train.flatMap((question, i) => {
    const all = features({ text: question.request, vector: question.vector }, factsOf(data, question), [arm]).all();
    const without = qualityOf(answers.of(withoutExamples(question)).text, question);
    return labelled(question, i).map((neighbour): HelpfulnessRow => {
      const row = question.candidates.indexOf(neighbour);
      const given = answers.of(withExamples(data, question, [neighbour]));
      return {
        group: question.request,
        features: all.slice(row * HELPFULNESS_FEATURES, (row + 1) * HELPFULNESS_FEATURES),
        effect: qualityOf(given.text, question) - without,
        weight: 1,
      };
    });
  });
}

export const qualityOf = (answer: string, { references }: Pick<Question, "references">): number =>
  bestTokenF1(answer, references);

export interface BenchHelpfulnessModel {
  model: HelpfulnessModel;
  kind: string;
  /** On training requests held out. */
  metrics: Record<string, number>;
}

export async function benchHelpfulnessModel(
  { folder, note }: BenchContext,
  rows: readonly HelpfulnessRow[],
): Promise<BenchHelpfulnessModel> {
  const log = createLog({ level: "error" });
  const plain = rows.map(({ features, ...row }) => ({ ...row, features: [...features] }));
  const programs = ["train-helpfulness.py", "helpfulness_onnx.py"].map(
    (name) => new URL(`../../tools/training/${name}`, import.meta.url),
  );
  const hash = createHash("sha256").update(JSON.stringify(plain));
  for (const program of programs) hash.update(await readFile(program));
  const file = join(folder, `helpfulness-${hash.digest("hex").slice(0, 16)}.json`);
  if (!existsSync(file)) {
    note(`training the helpfulness model on ${rows.length} rows`);
    const { onnx, kind, metrics } = await trainHelpfulness(rows, { log });
    await writeFile(file, JSON.stringify({ onnx: Buffer.from(onnx).toString("base64"), kind, metrics }));
  }
  const { onnx, ...rest } = JSON.parse(await readFile(file, "utf8")) as Omit<BenchHelpfulnessModel, "model"> & {
    onnx: string;
  };
  return { model: await loadHelpfulnessModel({ bytes: Buffer.from(onnx, "base64"), version: 1, log }), ...rest };
}
