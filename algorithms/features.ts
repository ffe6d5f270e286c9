// The bandit's context x (docs/design/routing.md, Context): what is known of a request, and of the
// examples an arm would be shown, as 24 numbers in [-1, 1]. The layout is a contract with the
// learner: any change of it needs a new FEATURE_VERSION.
import { normal, splitmix64 } from "./random.ts";

export const FEATURE_VERSION = 1;

/** Components of the random projection of the embedding. */
const PROJECTED = 8;
const PROJECTION_SEED = 20_261_121;

/** Meaning of each component, in order. */
export const FEATURE_NAMES: readonly string[] = [
  "constant",
  // The question: lengths and counts are logarithms scaled to [0, 1], shares are of its characters.
  "questionLength",
  "promptLength",
  "turns",
  "lines",
  "questionWords",
  "digits",
  "punctuation",
  "codeLike",
  "nonAscii",
  // tanh(z / 2) of a fixed Gaussian projection of the embedding (z ~ N(0, 1) for a random unit
  // vector); 0 without one.
  ...Array.from({ length: PROJECTED }, (_, k) => `embedding${k}`),
  // The examples the arm would be shown; 0 without any.
  "exampleCount",
  "bestHelpfulness",
  "meanHelpfulness",
  "bestSimilarity",
  "strongOverlap",
  "addedTokens",
];
export const FEATURE_COUNT = FEATURE_NAMES.length;

export interface FeatureInput {
  question: string;
  /** Characters of the whole conversation. */
  promptCharacters: number;
  messages: number;
  /** Unit length, or null when there is none. */
  embedding: Float32Array | null;
  examples: readonly { similarity: number; helpfulness: number; tokens: number }[];
}

const bound = (value: number): number => Math.max(-1, Math.min(1, value));
/** 0 at 0, 1 at `full` and beyond. */
const logShare = (value: number, full: number): number => bound(Math.log1p(Math.max(0, value)) / Math.log1p(full));
const matches = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** Only the head is looked at: a question of a megabyte must not hold the event loop. */
const HEAD = 8_192;

function lexical(question: string): number[] {
  const head = question.slice(0, HEAD);
  const characters = Math.max(1, head.length);
  return [
    logShare(matches(head, /\n/g), 100),
    logShare(matches(head, /\b(?:who|what|when|where|why|which|how|does|can|is|are)\b/gi), 10),
    matches(head, /\d/g) / characters,
    bound((4 * matches(head, /[\p{P}\p{S}]/gu)) / characters),
    logShare(matches(head, /[{}();=<>|$`\\]|\b(?:def|class|function|import|return|select|from)\b/gi), 40),
    matches(head, /[^\0-\x7f]/g) / characters,
  ];
}

/** Component-wise largest of the figures of the examples, and their mean helpfulness. */
function exampleFeatures(examples: FeatureInput["examples"]): number[] {
  if (examples.length === 0) return [0, 0, 0, 0, 0, 0];
  const similarity = Math.max(...examples.map((example) => example.similarity));
  const helpfulness = examples.map((example) => example.helpfulness);
  return [
    bound(examples.length / 8),
    bound(Math.max(...helpfulness)),
    bound(helpfulness.reduce((sum, value) => sum + value, 0) / examples.length),
    bound(similarity),
    // The paper counts 0.8 as strong overlap; from there the nearest answer can nearly be copied.
    bound(Math.max(0, similarity - 0.8) / 0.2),
    logShare(
      examples.reduce((sum, example) => sum + example.tokens, 0),
      4_000,
    ),
  ];
}

/** A matrix of `components` rows of standard normals, always the same for a dimension. */
function projection(dimension: number): Float64Array {
  const random = splitmix64(PROJECTION_SEED);
  return Float64Array.from({ length: PROJECTED * dimension }, () => normal(random));
}

/**
 * Returns the function from a request and an arm's examples to x. It keeps the projection matrices
 * (one a dimension) it has made,
 *  and the last question's part. A vector must not be changed once it was given.
 */
export function createFeatures(): (input: FeatureInput) => number[] {
  const matrices = new Map<number, Float64Array>();
  const project = (embedding: Float32Array): number[] => {
    const matrix = matrices.get(embedding.length) ?? projection(embedding.length);
    matrices.set(embedding.length, matrix);
    return Array.from({ length: PROJECTED }, (_, k) => {
      let z = 0;
      for (let j = 0; j < embedding.length; j++) z += matrix[k * embedding.length + j]! * embedding[j]!;
      return Math.tanh(z / 2);
    });
  };
  const ofQuestion = (question: string, embedding: Float32Array | null): number[] => [
    ...lexical(question),
    ...(embedding === null ? Array.from({ length: PROJECTED }, () => 0) : project(embedding)),
  ];
  /** The last question's: a request is looked at once an arm, and only its examples differ. */
  let last: { question: string; embedding: Float32Array | null; features: number[] } | undefined;
  return (input) => {
    const { question, embedding } = input;
    if (last?.embedding !== embedding || last.question !== question)
      last = { question, embedding, features: ofQuestion(question, embedding) };
    return [
      1,
      logShare(question.length, 100_000),
      logShare(input.promptCharacters, 1_000_000),
      logShare(input.messages - 1, 50),
      ...last.features,
      ...exampleFeatures(input.examples),
    ];
  };
}
