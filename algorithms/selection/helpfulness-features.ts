// Features of the helpfulness model (docs/design/selection.md, Stage 2): one row a (request,
// candidate, arm). Pure: the same function serves and trains.
import { type Agreements, agreementsOf } from "./agreement.ts";
import { centroidOf, createInteraction, wideDot } from "./helpfulness-vectors.ts";
import { PROJECTED } from "./projection.ts";
import { coverage, type HashedTokens, hashTokens, literalsIn, literalsOf, overlapF1 } from "../text/text-overlap.ts";

/** Version of the layout; any change of it or of a meaning needs a new one. */
export const HELPFULNESS_FEATURE_VERSION = 2;

export const HELPFULNESS_FEATURE_NAMES: readonly string[] = [
  // Relevance, and where the candidate stands among the others.
  "similarity",
  "similarityToBest",
  "similarityToMean",
  "moreSimilar",
  "centroidSimilarity",
  // tanh(z / 2) of a fixed Gaussian projection of the component-wise product of both embeddings.
  ...Array.from({ length: PROJECTED }, (_, k) => `interaction${k}`),
  // Sizes are logarithms of characters scaled to [0, 1]; ratios are differences of these.
  "questionLength",
  "requestLength",
  "responseLength",
  "requestToQuestion",
  "responseToQuestion",
  // Words that question and example share.
  "requestOverlap",
  "questionInRequest",
  "questionInResponse",
  // Quoted text, paths, file names and numbers of the question.
  "literals",
  "literalsInRequest",
  "literalsInResponse",
  // Its answer against those of the other candidates, which count the more the more similar they
  // are.
  "agreement",
  "agreementToBest",
  "agreementWithNearest",
  "openingAgreement",
  "consensus",
  "consensusToBest",
  // The example's record.
  "quality",
  "sourceCost",
  "sourceKnown",
  "uses",
  "outcome",
  "outcomeKnown",
  "armCost",
];
/** Numbers in a row. */
export const HELPFULNESS_FEATURES = HELPFULNESS_FEATURE_NAMES.length;

export interface RequestFacts {
  text: string;
  vector: Float32Array;
}

export interface CandidateFacts {
  request: string;
  response: string;
  vector: Float32Array;
  /** Hashed tokens of its texts, where they are known. */
  tokens?: { request: HashedTokens; response: HashedTokens } | null | undefined;
  similarity: number;
  /** Rewarded quality of the answer when it was admitted, [0, 1]. */
  quality: number;
  /** Normalised cost of the model that wrote it, [0, 1]; null when unknown. */
  sourceCost: number | null;
  /** Times shown with a rewarded outcome, and the mean outcome [0, 1]; null before the first. */
  uses: number;
  outcome: number | null;
}

export interface ArmFacts {
  cost: number;
}

/** The rows of a request's candidates for each arm. Every number is finite, whatever is given. */
export interface HelpfulnessRows {
  /** Row-major: arm a, candidate i begins at (a * candidates.length + i) * HELPFULNESS_FEATURES. */
  all(): Float32Array<ArrayBuffer>;
  /** The same numbers of arm a and candidate i alone: where few rows are read, few are made. */
  one(a: number, i: number): number[];
}

export type HelpfulnessFeatures = (
  request: RequestFacts,
  candidates: readonly CandidateFacts[],
  arms: readonly ArmFacts[],
) => HelpfulnessRows;

const fullSize = Math.log1p(8_192);
const fullLiterals = Math.log1p(16);
const fullUses = Math.log1p(1_000);

const bounded = (value: number): number => (Number.isFinite(value) ? Math.max(-1, Math.min(1, value)) : 0);
const size = (text: string): number => Math.log1p(text.length) / fullSize;

/** Keeps the projection matrices that it has made, one a dimension. */
export function createHelpfulnessFeatures(): HelpfulnessFeatures {
  const interact = createInteraction();
  const products = new Float64Array(PROJECTED);

  /** All but the arm's own number, into the candidate's row. */
  function write(together: Together, i: number, candidate: CandidateFacts): void {
    const { rows, request, similarities, agreements, question, questionSize, literals } = together;
    const { vector, similarity, outcome, sourceCost } = candidate;
    let at = i * HELPFULNESS_FEATURES;
    rows[at++] = bounded(similarity);
    rows[at++] = bounded(similarity - together.best);
    rows[at++] = bounded(similarity - together.mean);
    rows[at++] = bounded(countAbove(similarities, similarity) / similarities.length);
    rows[at++] = bounded(wideDot(together.centroid, vector));
    interact(request.vector, vector, products);
    for (let k = 0; k < PROJECTED; k++) rows[at++] = bounded(Math.tanh(products[k]! / 2));
    const requestSize = size(candidate.request);
    const responseSize = size(candidate.response);
    rows[at++] = bounded(questionSize);
    rows[at++] = bounded(requestSize);
    rows[at++] = bounded(responseSize);
    rows[at++] = bounded(requestSize - questionSize);
    rows[at++] = bounded(responseSize - questionSize);
    rows[at++] = bounded(together.overlaps[i]!);
    rows[at++] = bounded(coverage(question, together.requestTokens[i]!));
    rows[at++] = bounded(coverage(question, together.responseTokens[i]!));
    rows[at++] = bounded(Math.log1p(literals.length) / fullLiterals);
    rows[at++] = bounded(literalsIn(literals, candidate.request));
    rows[at++] = bounded(literalsIn(literals, candidate.response));
    rows[at++] = bounded(agreements.all[i]!);
    rows[at++] = bounded(agreements.all[i]! - together.bestAgreement);
    rows[at++] = bounded(agreements.nearest[i]!);
    rows[at++] = bounded(agreements.opening[i]!);
    rows[at++] = bounded(agreements.consensus[i]!);
    rows[at++] = bounded(agreements.consensus[i]! - together.bestConsensus);
    rows[at++] = bounded(candidate.quality);
    rows[at++] = bounded(sourceCost ?? 0);
    rows[at++] = sourceCost === null ? 0 : 1;
    rows[at++] = bounded(Math.log1p(candidate.uses) / fullUses);
    rows[at++] = bounded(outcome ?? 0);
    rows[at++] = outcome === null ? 0 : 1;
  }

  return (request, candidates, arms) => {
    const n = candidates.length;
    const width = HELPFULNESS_FEATURES;
    let together: Together | undefined;
    /** With the row of candidate i, whose last number is to be the arm's. */
    const rowsWith = (i: number): Float32Array => {
      together ??= lookedAtTogether(request, candidates);
      if (!together.isWritten[i]) write(together, i, candidates[i]!);
      together.isWritten[i] = true;
      return together.rows;
    };
    return {
      all() {
        const all = new Float32Array(arms.length * n * width);
        for (let i = 0; i < n; i++) rowsWith(i);
        arms.forEach(({ cost }, a) => {
          if (together !== undefined) all.set(together.rows, a * n * width);
          for (let i = 1; i <= n; i++) all[(a * n + i) * width - 1] = bounded(cost);
        });
        return all;
      },
      one(a, i) {
        const rows = rowsWith(i);
        const row = new Array<number>(width);
        for (let k = 0; k < width - 1; k++) row[k] = rows[i * width + k]!;
        row[width - 1] = Math.fround(bounded(arms[a]!.cost));
        return row;
      },
    };
  };
}

interface Together {
  /** A row a candidate, once it was asked for. */
  rows: Float32Array;
  isWritten: boolean[];
  request: RequestFacts;
  similarities: Float64Array;
  /** Maximum and mean of the similarities. */
  best: number;
  mean: number;
  centroid: Float64Array;
  question: HashedTokens;
  questionSize: number;
  literals: readonly string[];
  requestTokens: readonly HashedTokens[];
  responseTokens: readonly HashedTokens[];
  overlaps: Float64Array;
  agreements: Agreements;
  bestAgreement: number;
  bestConsensus: number;
}

function lookedAtTogether(request: RequestFacts, candidates: readonly CandidateFacts[]): Together {
  const n = candidates.length;
  const similarities = new Float64Array(n);
  let sum = 0;
  for (let i = 0; i < n; i++) sum += similarities[i] = candidates[i]!.similarity;
  const question = hashTokens(request.text);
  const requestTokens = candidates.map(({ request, tokens }) => tokens?.request ?? hashTokens(request));
  const responseTokens = candidates.map(({ response, tokens }) => tokens?.response ?? hashTokens(response));
  const overlaps = new Float64Array(n);
  for (let i = 0; i < n; i++) overlaps[i] = overlapF1(question, requestTokens[i]!);
  const agreements = agreementsOf(similarities, responseTokens, overlaps);
  return {
    rows: new Float32Array(n * HELPFULNESS_FEATURES),
    isWritten: candidates.map(() => false),
    request,
    similarities,
    best: largest(similarities),
    mean: sum / n,
    centroid: centroidOf(candidates, request.vector.length),
    question,
    questionSize: size(request.text),
    literals: literalsOf(request.text),
    requestTokens,
    responseTokens,
    overlaps,
    agreements,
    bestAgreement: largest(agreements.all),
    bestConsensus: largest(agreements.consensus),
  };
}

function largest(values: Float64Array): number {
  let most = -Infinity;
  for (let i = 0; i < values.length; i++) most = Math.max(most, values[i]!);
  return most;
}

function countAbove(values: Float64Array, value: number): number {
  let count = 0;
  for (let i = 0; i < values.length; i++) if (values[i]! > value) count++;
  return count;
}
