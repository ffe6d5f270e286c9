// The bandit's context x (docs/design/routing.md, Context): what is known of a request, of an arm,
// and of the examples it would be shown, as numbers in [-1, 1]. The layout is a contract with the
// learner: any change of it needs a new FEATURE_VERSION.
import { normal, splitmix64 } from "./random.ts";
import { HELPFULNESS_FEATURE_NAMES, HELPFULNESS_FEATURES } from "./helpfulness-features.ts";

export const FEATURE_VERSION = 2;

/** Components of the random projection of the embedding. */
const PROJECTED = 8;
const PROJECTION_SEED = 20_261_121;

/** Features whose weights have a variance in common; the first is the constant's. */
export const FEATURE_GROUPS = ["constant", "question", "embedding", "examples"] as const;
type Group = (typeof FEATURE_GROUPS)[number];

/** Each component in order, and its group. */
const layout: readonly (readonly [name: string, group: Group])[] = [
  ["constant", "constant"],
  // Normalised cost: what arms of a price have in common.
  ["armCost", "constant"],
  // The question: logarithms of counts about those of a usual question, and shares of its words.
  ...(
    [
      "questionLength",
      "promptLength",
      "turns",
      "lines",
      "questionWords",
      "digits",
      "punctuation",
      "codeLike",
      "nonAscii",
      "words",
      "sentences",
      "commas",
      "numbers",
      "names",
      "connectives",
      "comparatives",
      "wordLength",
    ] as const
  ).map((name) => [name, "question"] as const),
  // tanh(z / 2) of a fixed Gaussian projection of the embedding (z ~ N(0, 1) for a random unit
  // vector); 0 without one.
  ...Array.from({ length: PROJECTED }, (_, k) => [`embedding${k}`, "embedding"] as const),
  // The examples the arm would be shown; 0 without any.
  ...(
    [
      "exampleCount",
      "bestHelpfulness",
      "meanHelpfulness",
      "bestSimilarity",
      "strongOverlap",
      "addedTokens",
      // Token F1 expected of copying the answer most others agree with, how much the answers agree,
      // and what the models that wrote them cost.
      "consensus",
      "agreement",
      "sourceCost",
    ] as const
  ).map((name) => [name, "examples"] as const),
];

/** Meaning of each component, in order. */
export const FEATURE_NAMES: readonly string[] = layout.map(([name]) => name);
/** Index into FEATURE_GROUPS of each component. */
export const FEATURE_GROUP_OF: readonly number[] = layout.map(([, group]) => FEATURE_GROUPS.indexOf(group));
export const FEATURE_COUNT = FEATURE_NAMES.length;

export interface FeatureInput {
  question: string;
  /** Characters of the whole conversation. */
  promptCharacters: number;
  messages: number;
  /** Unit length, or null when there is none. */
  embedding: Float32Array | null;
  /** features: their rows of the helpfulness features; absent or of another length: not known. */
  examples: readonly { similarity: number; helpfulness: number; tokens: number; features?: readonly number[] }[];
  /** Normalised cost of the arm, [0, 1]; 0 by default. */
  cost?: number;
}

const bound = (value: number): number => Math.max(-1, Math.min(1, value));
/** 0 at 0, 1 at `full` and beyond. */
const logShare = (value: number, full: number): number => bound(Math.log1p(Math.max(0, value)) / Math.log1p(full));
/** 0 at `usual`, +-1 at about twenty times as much or as little. */
const about = (value: number, usual: number): number => bound(Math.log((1 + Math.max(0, value)) / (1 + usual)) / 3);
const matches = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** Only the head is looked at: a question of a megabyte must not hold the event loop. */
const HEAD = 8_192;

const connectives = /\b(?:if|when|after|before|then|until|while|but|and|or|instead|because|so)\b/gi;
const comparatives =
  /\b(?:more|less|fewer|than|times|as many|as much|twice|half|double|triple|older|younger|longer|larger|smaller|most|least)\b/gi;

/** Takes time in proportion to the head: no pattern has a choice to take back. */
function lexical(question: string): number[] {
  const head = question.slice(0, HEAD);
  const characters = Math.max(1, head.length);
  const words = matches(head, /\S+/g);
  return [
    logShare(matches(head, /\n/g), 100),
    logShare(matches(head, /\b(?:who|what|when|where|why|which|how|does|can|is|are)\b/gi), 10),
    bound((4 * matches(head, /\d/g)) / characters),
    bound((4 * matches(head, /[\p{P}\p{S}]/gu)) / characters),
    logShare(matches(head, /[{}();=<>|$`\\]|\b(?:def|class|function|import|return|select|from)\b/gi), 40),
    matches(head, /[^\0-\x7f]/g) / characters,
    about(words, 40),
    about(matches(head, /[.!?](?=\s|$)/g), 3),
    about(matches(head, /,/g), 2),
    about(matches(head, /\d+/g), 3),
    about(matches(head, /\b[A-Z]/g), 5),
    about(matches(head, connectives), 2),
    about(matches(head, comparatives), 1),
    // Letters a word, spaces counted: 5.5 is usual.
    bound((characters / Math.max(1, words) - 5.5) / 4),
  ];
}

/** Component-wise largest of the figures of the examples, and their mean helpfulness. */
function exampleFeatures(examples: FeatureInput["examples"]): number[] {
  if (examples.length === 0) return Array.from({ length: 9 }, () => 0);
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
    Math.max(...examples.map((example) => known(example, consensus))),
    mean(examples.map((example) => known(example, agreement))),
    mean(examples.map((example) => known(example, sourceCost))),
  ];
}

const consensus = HELPFULNESS_FEATURE_NAMES.indexOf("consensus");
const agreement = HELPFULNESS_FEATURE_NAMES.indexOf("agreement");
const sourceCost = HELPFULNESS_FEATURE_NAMES.indexOf("sourceCost");

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
/** One figure of an example's row; 0 where it has none. */
const known = ({ features }: FeatureInput["examples"][number], at: number): number => {
  const value = features?.length === HELPFULNESS_FEATURES ? features[at]! : 0;
  return Number.isFinite(value) ? bound(value) : 0;
};

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
      bound(input.cost ?? 0),
      about(question.length, 200),
      about(input.promptCharacters, 400),
      logShare(input.messages - 1, 50),
      ...last.features,
      ...exampleFeatures(input.examples),
    ];
  };
}
