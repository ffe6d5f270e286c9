// Whether the answer to one question may be given to another (docs/arms.md, reuse): cosine, words,
// numbers, names, negations, kinds. Symmetric; linear in the heads of both texts. Pure.
import { normalise } from "../text/normalise.ts";

/** Any change of the layout, or of a meaning, needs new weights (reuse-quality.ts). */
export const REUSE_FEATURE_NAMES = [
  "cosine",
  "cosineAbove80",
  "cosineAbove90",
  "cosineAbove95",
  // Shares of words, of words that carry meaning, of their stems, of neighbouring words, of three
  // letters in a row.
  "words",
  "contentWords",
  "stems",
  "stemsCovered",
  "neighbours",
  "letters",
  "sameStems",
  // What only one of the two has: how many stems, and how long the longest of them is.
  "unsharedFewer",
  "unsharedMore",
  "unsharedLongest",
  "bothUnshared",
  "numbers",
  "numbersDiffer",
  "names",
  "namesDiffer",
  "negationDiffers",
  "comparisonDiffers",
  "opening",
  "questionWordDiffers",
  "lastWord",
  "lengthDiffers",
  "length",
  "cosineTimesStems",
  "cosineTimesUnshared",
] as const;

/** Only the head is looked at: a question of a megabyte must not hold the event loop. */
const HEAD = 2_048;
const MOST_WORDS = 256;

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "));
const functionWords = set(
  "a an the is are was were be been being am do does did done have has had having i you he she it we they me my your his her its our their them us this that these those there here of in on at to for from by with about as into than then so if and or but what which who whom whose when where why how can could should would will shall may might must one some any get got just also very really",
);
const negations = set(
  "not no never none without cannot nor neither nobody nothing isn't aren't don't doesn't didn't won't can't wasn't weren't shouldn't wouldn't couldn't hasn't haven't isnt dont doesnt didnt wont cant except unless",
);
const comparisons = set(
  "more less most least best worst better worse first last before after above below over under up down in out on off enable disable start stop increase decrease maximum minimum highest lowest old new without with",
);
const questionWords = set(
  "what which who whom whose when where why how is are was were do does did can could should would will has have",
);

type Read = ReturnType<typeof read>;

/** Strips endings of number and tense; crude, but the same for both texts. */
function stem(word: string): string {
  if (word.length < 4) return word;
  const stripped = word
    .replace(/'s$/, "")
    .replace(/(?:ies|ied)$/, "y")
    .replace(/(?:sses)$/, "ss")
    .replace(/(?:ing|ed|es|ly|s|e)$/, "");
  return stripped.length < 3 ? word : stripped.replace(/([b-df-hj-np-tv-z])\1$/, "$1");
}

function read(text: string) {
  const head = normalise(text).slice(0, HEAD);
  const found = [...head.matchAll(/[\p{L}\p{N}]+(?:'[\p{L}]{1,3})?/gu)].slice(0, MOST_WORDS);
  const words = found.map(([word]) => word.toLowerCase());
  const content = new Set(words.filter((word) => !functionWords.has(word)));
  const stems = new Set([...content].map(stem));
  const names = new Set<string>();
  found.forEach(([word], i) => {
    if (i > 0 && /^\p{Lu}/u.test(word) && !functionWords.has(words[i]!)) names.add(stem(words[i]!));
  });
  const neighbours = new Set<string>();
  for (let i = 1; i < words.length; i++) neighbours.add(`${words[i - 1]!} ${words[i]!}`);
  const letters = new Map<string, number>();
  const joined = ` ${words.join(" ")} `;
  for (let i = 0; i + 3 <= joined.length; i++) {
    const three = joined.slice(i, i + 3);
    letters.set(three, (letters.get(three) ?? 0) + 1);
  }
  return {
    words,
    content,
    stems,
    neighbours,
    letters,
    letterCount: Math.max(0, joined.length - 2),
    numbers: new Set(words.filter((word) => /\p{N}/u.test(word))),
    names,
    negations: words.filter((word) => negations.has(word) || word.endsWith("n't")).length,
    comparisons: new Set(words.filter((word) => comparisons.has(word))),
  };
}

const common = (one: ReadonlySet<string>, other: ReadonlySet<string>): number => {
  let count = 0;
  for (const item of one) if (other.has(item)) count++;
  return count;
};
const union = (one: ReadonlySet<string>, other: ReadonlySet<string>): number =>
  one.size + other.size - common(one, other);
/** 1 for two empty sets: nothing differs. */
const jaccard = (one: ReadonlySet<string>, other: ReadonlySet<string>): number =>
  one.size + other.size === 0 ? 1 : common(one, other) / union(one, other);
const differ = (one: ReadonlySet<string>, other: ReadonlySet<string>): number =>
  Number(common(one, other) < Math.max(one.size, other.size));

/** cosine: of the embeddings of the two, [-1, 1]. All features are finite and in [-1, 1]. */
export function reuseFeatures(one: string, other: string, cosine: number): number[] {
  const a = read(one);
  const b = read(other);
  const near = Number.isFinite(cosine) ? Math.max(-1, Math.min(1, cosine)) : 0;
  const onlyA = [...a.stems].filter((word) => !b.stems.has(word));
  const onlyB = [...b.stems].filter((word) => !a.stems.has(word));
  const fewer = Math.min(onlyA.length, onlyB.length);
  const more = Math.max(onlyA.length, onlyB.length);
  const stems = jaccard(a.stems, b.stems);
  const smaller = Math.min(a.stems.size, b.stems.size);
  let letters = 0;
  for (const [three, count] of a.letters) letters += Math.min(count, b.letters.get(three) ?? 0);
  const kind = ({ words }: Read): string => words.find((word) => questionWords.has(word)) ?? "";
  const lastOf = ({ words }: Read): string => stem(words.at(-1) ?? "");
  const unshared = Math.min(1, (fewer + more) / 8);
  return [
    near,
    Math.min(1, Math.max(0, near - 0.8) * 5),
    Math.min(1, Math.max(0, near - 0.9) * 10),
    Math.min(1, Math.max(0, near - 0.95) * 20),
    jaccard(new Set(a.words), new Set(b.words)),
    jaccard(a.content, b.content),
    stems,
    smaller === 0 ? 0 : common(a.stems, b.stems) / smaller,
    jaccard(a.neighbours, b.neighbours),
    a.letterCount + b.letterCount === 0 ? 1 : (2 * letters) / (a.letterCount + b.letterCount),
    Number(more === 0),
    Math.min(1, fewer / 4),
    Math.min(1, more / 8),
    Math.min(1, Math.max(0, ...onlyA.map((word) => word.length), ...onlyB.map((word) => word.length)) / 12),
    Number(fewer > 0),
    jaccard(a.numbers, b.numbers),
    differ(a.numbers, b.numbers),
    jaccard(a.names, b.names),
    differ(a.names, b.names),
    Number(a.negations % 2 !== b.negations % 2),
    differ(a.comparisons, b.comparisons),
    Number(a.words[0] === b.words[0]),
    Number(kind(a) !== kind(b)),
    Number(lastOf(a) === lastOf(b)),
    Math.min(1, Math.abs(Math.log(1 + a.words.length) - Math.log(1 + b.words.length))),
    Math.min(1, (a.words.length + b.words.length) / 80),
    near * stems,
    near * unshared,
  ];
}
