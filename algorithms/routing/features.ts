// The bandit's context x (docs/design/routing.md, Context), numbers in [-1, 1]. The layout is a
// contract with the learner: any change needs a new FEATURE_VERSION.
import { HELPFULNESS_FEATURE_NAMES, HELPFULNESS_FEATURES } from "../selection/helpfulness-features.ts";
import { project, PROJECTED, projectionOf } from "../selection/projection.ts";

export const FEATURE_VERSION = 3;

/** Features whose weights have a variance in common; the first is the constant's. */
export const FEATURE_GROUPS = ["constant", "question", "embedding", "examples", "form"] as const;
type Group = (typeof FEATURE_GROUPS)[number];

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
  // Kind of request, mostly booleans: models differ more between kinds than within one.
  ...(
    ["choices", "formulas", "otherScript", "codeWords", "howMany", "blank", "endsAsking", "beginsWithTask"] as const
  ).map((name) => [name, "form"] as const),
];

export const FEATURE_NAMES: readonly string[] = layout.map(([name]) => name);
export const FEATURE_GROUP_OF: readonly number[] = layout.map(([, group]) => FEATURE_GROUPS.indexOf(group));
export const FEATURE_COUNT = FEATURE_NAMES.length;

export interface FeatureInput {
  question: string;
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

const codeWords =
  /\b(?:function|python|javascript|java|def|class|code|program|return|list|array|string|tuple|script|implement|algorithm)\b/gi;

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

/** Characters at the end of the question that formOf() reads. */
const TAIL = 64;
const leastChoices = 2;
const leastOtherScript = 0.1;

/** Patterns for the question's head: choices, mathematics, other scripts, code, "how many". */
function formOf(question: string): number[] {
  const head = question.slice(0, HEAD);
  const yes = (value: boolean): number => (value ? 1 : 0);
  return [
    yes(matches(head, /^[ \t]{0,8}\(?[A-H][.):][ \t]/gm) >= leastChoices),
    logShare(matches(head, /\\[a-zA-Z]|\$/g), 10),
    yes(matches(head, /(?!\p{Script=Latin})\p{L}/gu) > leastOtherScript * head.length),
    logShare(matches(head, codeWords), 5),
    yes(/\bhow (?:many|much|long|far|old)\b/i.test(head)),
    yes(head.includes("_")),
    yes(/[?？؟]$/.test(question.slice(-TAIL).trimEnd())),
    yes(/^\s{0,8}(?:write|create|implement|def |function|import|\/\*|\/\/|#)/i.test(head)),
  ];
}

/** Behind `x`: the largest of the figures of the examples, component-wise, and mean helpfulness. */
function addExamples(x: number[], examples: FeatureInput["examples"]): void {
  const n = examples.length;
  if (n === 0) {
    for (let k = 0; k < 9; k++) x.push(0);
    return;
  }
  let [bestHelpfulness, bestSimilarity, bestConsensus] = [-Infinity, -Infinity, -Infinity];
  let [helpfulness, tokens, agreements, costs] = [0, 0, 0, 0];
  for (const example of examples) {
    bestHelpfulness = Math.max(bestHelpfulness, example.helpfulness);
    bestSimilarity = Math.max(bestSimilarity, example.similarity);
    bestConsensus = Math.max(bestConsensus, known(example, consensus));
    helpfulness += example.helpfulness;
    tokens += example.tokens;
    agreements += known(example, agreement);
    costs += known(example, sourceCost);
  }
  x.push(
    bound(n / 8),
    bound(bestHelpfulness),
    bound(helpfulness / n),
    bound(bestSimilarity),
    // The paper counts 0.8 as strong overlap; from there the nearest answer can nearly be copied.
    bound(Math.max(0, bestSimilarity - 0.8) / 0.2),
    logShare(tokens, 4_000),
    bestConsensus,
    agreements / n,
    costs / n,
  );
}

const consensus = HELPFULNESS_FEATURE_NAMES.indexOf("consensus");
const agreement = HELPFULNESS_FEATURE_NAMES.indexOf("agreement");
const sourceCost = HELPFULNESS_FEATURE_NAMES.indexOf("sourceCost");

const known = ({ features }: FeatureInput["examples"][number], at: number): number => {
  const value = features?.length === HELPFULNESS_FEATURES ? features[at]! : 0;
  return Number.isFinite(value) ? bound(value) : 0;
};

/** A function of a request and an arm's examples. It caches: don't change a given vector. */
export function createFeatures(): (input: FeatureInput) => number[] {
  const projections = new Map<number, Float64Array>();
  const products = new Float64Array(PROJECTED);
  const ofQuestion = (question: string, embedding: Float32Array | null): number[] => {
    const features = lexical(question);
    products.fill(0);
    if (embedding !== null) {
      const columns = projections.get(embedding.length) ?? projectionOf(embedding.length);
      projections.set(embedding.length, columns);
      project(columns, embedding, products);
    }
    for (let k = 0; k < PROJECTED; k++) features.push(Math.tanh(products[k]! / 2));
    return features;
  };
  /** The last question's: a request is looked at once an arm, and only its examples differ. */
  let last: { question: string; embedding: Float32Array | null; features: number[]; form: number[] } | undefined;
  return (input) => {
    const { question, embedding } = input;
    if (last?.embedding !== embedding || last.question !== question)
      last = { question, embedding, features: ofQuestion(question, embedding), form: formOf(question) };
    const x = [
      1,
      bound(input.cost ?? 0),
      about(question.length, 200),
      about(input.promptCharacters, 400),
      logShare(input.messages - 1, 50),
      ...last.features,
    ];
    addExamples(x, input.examples);
    x.push(...last.form);
    return x;
  };
}
