// What the helpfulness model looks at (docs/design/selection.md, Stage 2): one row for each
// (request, candidate, arm). Similarity alone correlates weakly with helpfulness (IC-Cache Fig. 7),
// so the texts' sizes, the example's record and its agreement with the other candidates stand
// beside it. Pure: the same function makes the rows that are served and those that are trained on.
import { agreementsOf } from "./agreement.ts";
import { dot } from "./embedding.ts";
import { normal, splitmix64 } from "./random.ts";
import { coverage, hashTokens, literalsIn, literalsOf, overlapF1 } from "./text-overlap.ts";

/**
 * Version of the layout below; a helpfulness model of another version is refused. Any change of the
 * layout or of a meaning needs a new one.
 */
export const HELPFULNESS_FEATURE_VERSION = 2;

/** Components of the random projection of the embeddings' product. */
const PROJECTED = 8;
const PROJECTION_SEED = 20_261_121;

/** Meaning of each component, in order. All lie in [-1, 1]. */
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
  /** The last user turn. */
  text: string;
  /** Unit length. */
  vector: Float32Array;
}

export interface CandidateFacts {
  request: string;
  response: string;
  /** Unit length. */
  vector: Float32Array;
  /** Cosine with the request, [-1, 1]. */
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
  /** Normalised cost C_i, [0, 1]. */
  cost: number;
}

/**
 * Rows of all candidates for each arm, row-major: the row of arm a and candidate i begins at (a *
 * candidates.length + i) * HELPFULNESS_FEATURES. Every number is finite, whatever is given. The
 * order of the candidates changes only the order of the rows.
 */
export type HelpfulnessFeatures = (
  request: RequestFacts,
  candidates: readonly CandidateFacts[],
  arms: readonly ArmFacts[],
) => Float32Array<ArrayBuffer>;

const fullSize = Math.log1p(8_192);
const fullLiterals = Math.log1p(16);
const fullUses = Math.log1p(1_000);

const bounded = (value: number): number => (Number.isFinite(value) ? Math.max(-1, Math.min(1, value)) : 0);
const size = (text: string): number => Math.log1p(text.length) / fullSize;

/** Texts whose tokens are kept, and the longest of them, characters. */
const keptTexts = { most: 4_096, length: 1_024 };

/**
 * Keeps the projection matrices that it has made, one a dimension, and the tokens of the examples
 * that it saw last: the same few are found again and again.
 */
export function createHelpfulnessFeatures(): HelpfulnessFeatures {
  const projections = new Map<number, Projection>();
  const tokensOf = keeping(hashTokens);
  return (request, candidates, arms) => {
    const n = candidates.length;
    const rows = new Float32Array(arms.length * n * HELPFULNESS_FEATURES);
    if (n === 0) return rows;
    const dimension = request.vector.length;
    const projection = projections.get(dimension) ?? projectionOf(dimension);
    projections.set(dimension, projection);

    const projected = projectedQuestion(request.vector, projection);
    const products = new Float64Array(PROJECTED);

    const similarities = Float64Array.from(candidates, ({ similarity }) => similarity);
    const best = Math.max(...similarities);
    const mean = similarities.reduce((sum, value) => sum + value, 0) / n;
    const centroid = centroidOf(candidates, dimension);
    const question = hashTokens(request.text);
    const requestTokens = candidates.map((candidate) => tokensOf(candidate.request));
    const overlaps = new Float64Array(n);
    for (let i = 0; i < n; i++) overlaps[i] = overlapF1(question, requestTokens[i]!);
    const responseTokens = candidates.map((candidate) => tokensOf(candidate.response));
    const agreements = agreementsOf(candidates, responseTokens, overlaps);
    const bestAgreement = Math.max(...agreements.map(({ all }) => all));
    const bestConsensus = Math.max(...agreements.map(({ consensus }) => consensus));
    const literals = literalsOf(request.text);
    const questionSize = size(request.text);

    let at = 0;
    const put = (value: number): void => {
      rows[at++] = bounded(value);
    };
    candidates.forEach((candidate, i) => {
      at = i * HELPFULNESS_FEATURES;
      const { vector, similarity, outcome, sourceCost } = candidate;
      put(similarity);
      put(similarity - best);
      put(similarity - mean);
      put(countAbove(similarities, similarity) / n);
      put(dot(centroid, vector));
      multiply(projected, vector, products);
      for (let k = 0; k < PROJECTED; k++) put(Math.tanh(products[k]! / 2));
      const requestSize = size(candidate.request);
      const responseSize = size(candidate.response);
      put(questionSize);
      put(requestSize);
      put(responseSize);
      put(requestSize - questionSize);
      put(responseSize - questionSize);
      put(overlaps[i]!);
      put(coverage(question, requestTokens[i]!));
      put(coverage(question, responseTokens[i]!));
      put(Math.log1p(literals.length) / fullLiterals);
      put(literalsIn(literals, candidate.request));
      put(literalsIn(literals, candidate.response));
      put(agreements[i]!.all);
      put(agreements[i]!.all - bestAgreement);
      put(agreements[i]!.nearest);
      put(agreements[i]!.opening);
      put(agreements[i]!.consensus);
      put(agreements[i]!.consensus - bestConsensus);
      put(candidate.quality);
      put(sourceCost ?? 0);
      put(sourceCost === null ? 0 : 1);
      put(Math.log1p(candidate.uses) / fullUses);
      put(outcome ?? 0);
      put(outcome === null ? 0 : 1);
    });
    // Only the last number knows the arm.
    arms.forEach(({ cost }, a) => {
      const from = a * n * HELPFULNESS_FEATURES;
      if (a > 0) rows.copyWithin(from, 0, n * HELPFULNESS_FEATURES);
      for (let i = 1; i <= n; i++) rows[from + i * HELPFULNESS_FEATURES - 1] = bounded(cost);
    });
    return rows;
  };
}

function countAbove(values: Float64Array, value: number): number {
  let count = 0;
  for (let i = 0; i < values.length; i++) if (values[i]! > value) count++;
  return count;
}

interface Projection {
  /** Row after row. */
  matrix: Float64Array;
  /** Room for its product with a question, which is used up before the next one comes. */
  columns: Float64Array;
}

/**
 * Rows of standard normals, scaled so that the product of two random unit vectors gives values
 * about 1.
 */
function projectionOf(dimension: number): Projection {
  const random = splitmix64(PROJECTION_SEED);
  const scale = Math.sqrt(dimension);
  const matrix = Float64Array.from({ length: PROJECTED * dimension }, () => scale * normal(random));
  return { matrix, columns: new Float64Array(matrix.length) };
}

/**
 * The projection's rows, each multiplied by the question's vector, column by column: what is left
 * to do for a candidate is one product with the matrix.
 */
function projectedQuestion(question: Float32Array, { matrix, columns }: Projection): Float64Array {
  const d = question.length;
  for (let j = 0; j < d; j++)
    for (let k = 0; k < PROJECTED; k++) columns[j * PROJECTED + k] = matrix[k * d + j]! * question[j]!;
  return columns;
}

/**
 * Into `products`: the matrix times the vector, whose shorter length counts. Eight sums at a time,
 * declared one by one as in dot (embedding.ts).
 */
function multiply(columns: Float64Array, vector: Float32Array, products: Float64Array): void {
  const d = Math.min(columns.length / PROJECTED, vector.length);
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let s4 = 0;
  let s5 = 0;
  let s6 = 0;
  let s7 = 0;
  for (let j = 0, at = 0; j < d; j++, at += PROJECTED) {
    const value = vector[j]!;
    s0 += columns[at]! * value;
    s1 += columns[at + 1]! * value;
    s2 += columns[at + 2]! * value;
    s3 += columns[at + 3]! * value;
    s4 += columns[at + 4]! * value;
    s5 += columns[at + 5]! * value;
    s6 += columns[at + 6]! * value;
    s7 += columns[at + 7]! * value;
  }
  products[0] = s0;
  products[1] = s1;
  products[2] = s2;
  products[3] = s3;
  products[4] = s4;
  products[5] = s5;
  products[6] = s6;
  products[7] = s7;
}

/** `of`, with its newest results kept for short texts. */
function keeping<T>(of: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const made = of(text);
    if (text.length > keptTexts.length) return made;
    // The one that was kept first makes room; what is asked for often is soon there again.
    if (kept.size >= keptTexts.most)
      for (const [oldest] of kept) {
        kept.delete(oldest);
        break;
      }
    kept.set(text, made);
    return made;
  };
}

/**
 * Length below which a sum of unit vectors is no longer stretched to 1, for each vector summed.
 * What is left when float32 vectors cancel is their own rounding, up to 2^-24 each; this is a
 * hundred times as much, so that such noise stays near zero.
 */
const shortestMean = 1e-5;

/**
 * Direction of the mean of the candidates' vectors: of unit length, or near zero where they cancel.
 * Summed in float64 and never divided by less than `shortestMean` a vector: the order of the
 * candidates, which moves only the rounding, would show in the direction otherwise.
 */
function centroidOf(candidates: readonly CandidateFacts[], dimension: number): Float64Array {
  const sum = new Float64Array(dimension);
  for (const { vector } of candidates) {
    const length = Math.min(dimension, vector.length);
    for (let j = 0; j < length; j++) sum[j]! += vector[j]!;
  }
  const length = Math.max(Math.sqrt(dot(sum, sum)), shortestMean * candidates.length);
  return sum.map((value) => value / length);
}
