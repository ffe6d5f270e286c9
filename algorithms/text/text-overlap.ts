// Overlap of texts, quickly: tokens as sorted hashes, made once a text. Close to token-f1.ts, which
// is too slow for 32 candidates a request.

/** Only the head is looked at: a text of a megabyte must not hold the event loop. */
const HEAD = 2_048;
const MOST_TOKENS = 256;
const MOST_LITERALS = 16;

/** FNV-1a. */
const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

const isUpper = (code: number): boolean => code >= 65 && code <= 90;
/** Letters, digits, dot, dash and underscore; everything beyond ASCII counts as a letter. */
const isWord = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  isUpper(code) ||
  (code >= 48 && code <= 57) ||
  code === 45 ||
  code === 46 ||
  code === 95 ||
  code > 127;

export interface HashedTokens {
  /** Ascending, repeats kept; hashes of 30 bits, which V8 holds without boxing them. */
  sorted: readonly number[];
  /** Hash of the first token; -1 without tokens. */
  first: number;
}

/** Words, numbers and flags in lower case; every other mark alone, white space between them. */
export function hashTokens(text: string): HashedTokens {
  const sorted: number[] = [];
  const length = Math.min(text.length, HEAD);
  let first = -1;
  for (let at = 0; at < length && sorted.length < MOST_TOKENS;) {
    let code = text.charCodeAt(at++);
    if (code <= 32) continue;
    let hash = Math.imul(OFFSET ^ (isUpper(code) ? code + 32 : code), PRIME);
    if (isWord(code))
      for (; at < length && isWord((code = text.charCodeAt(at))); at++)
        hash = Math.imul(hash ^ (isUpper(code) ? code + 32 : code), PRIME);
    hash >>>= 2;
    if (first < 0) first = hash;
    // Sorted as they come: most texts are short, and no comparison function is called.
    let position = sorted.length;
    sorted.push(hash);
    for (; position > 0 && sorted[position - 1]! > hash; position--) sorted[position] = sorted[position - 1]!;
    sorted[position] = hash;
  }
  // A copy is as long as it has to be: what is pushed to has room for half as many more.
  return { sorted: sorted.slice(), first };
}

function commonTokens({ sorted: one }: HashedTokens, { sorted: other }: HashedTokens): number {
  let common = 0;
  for (let i = 0, j = 0; i < one.length && j < other.length;) {
    const difference = one[i]! - other[j]!;
    if (difference === 0) common++;
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  return common;
}

/** Above every hash. */
const none = 2 ** 30;

/**
 * Tokens that each two texts have in common, repeats counted: of i and j < i at i * n + j. All at
 * once by token: a third of the time of comparing pairs.
 */
export function commonTokensOfPairs(texts: readonly HashedTokens[]): Uint16Array {
  const n = texts.length;
  const common = new Uint16Array(n * n);
  const positions = new Int32Array(n);
  const heads = new Int32Array(n);
  for (let i = 0; i < n; i++) heads[i] = texts[i]!.sorted[0] ?? none;
  const holders = new Int32Array(n);
  const repeats = new Int32Array(n);
  for (;;) {
    let least = none;
    for (let i = 0; i < n; i++) least = Math.min(least, heads[i]!);
    if (least === none) return common;
    let held = 0;
    for (let i = 0; i < n; i++) {
      if (heads[i] !== least) continue;
      const { sorted } = texts[i]!;
      const from = positions[i]!;
      let to = from + 1;
      while (to < sorted.length && sorted[to] === least) to++;
      positions[i] = to;
      heads[i] = to < sorted.length ? sorted[to]! : none;
      const repeated = to - from;
      for (let k = 0; k < held; k++) common[i * n + holders[k]!]! += Math.min(repeated, repeats[k]!);
      holders[held] = i;
      repeats[held++] = repeated;
    }
  }
}

/** Harmonic mean of precision and recall, [0, 1]; 1 for two empty texts. Symmetric. */
export function overlapF1(one: HashedTokens, other: HashedTokens, common = commonTokens(one, other)): number {
  const total = one.sorted.length + other.sorted.length;
  return total === 0 ? 1 : (2 * common) / total;
}

/** Share of the tokens of `wanted` that `given` has too, [0, 1]; 0 for an empty text. */
export const coverage = (wanted: HashedTokens, given: HashedTokens): number =>
  wanted.sorted.length === 0 ? 0 : commonTokens(wanted, given) / wanted.sorted.length;

// Runs are bounded, so that no text makes the search slow.
const literal =
  /"([^"\n]{1,64})"|'([^'\n]{1,64})'|`([^`\n]{1,64})`|[\w.$*~-]{0,64}[/*~$][\w./$*~-]{0,64}|\b[\w-]{1,64}\.\w{1,8}\b|\b\d[\d.:]{0,16}\b/g;

/** What an answer would repeat as it is: quotes, paths, file names, variables, numbers. */
export function literalsOf(text: string): string[] {
  const found = new Set<string>();
  for (const match of text.slice(0, HEAD).matchAll(literal)) {
    const value = withoutStops((match[1] ?? match[2] ?? match[3] ?? match[0]).trim());
    if (value !== "") found.add(value);
    if (found.size === MOST_LITERALS) break;
  }
  return [...found];
}

/** Without the dots and colons at its end. */
function withoutStops(value: string): string {
  let end = value.length;
  while (end > 0 && ".:".includes(value.charAt(end - 1))) end--;
  return value.slice(0, end);
}

/** Share of the literals that stand in the text, [0, 1]; 0 without literals. */
export function literalsIn(literals: readonly string[], text: string): number {
  if (literals.length === 0) return 0;
  const head = text.slice(0, HEAD);
  return literals.filter((value) => head.includes(value)).length / literals.length;
}
