// Names of recomputation policies that are served (docs/design/linked-prefill.md, Policies): full,
// naive, attnlink-K (tokens a boundary), prefix-R (percent), craft-A (alpha), last-M (chunks),
// last-M+ANY. Each kind of chunk may have its own policy.

export interface LinkPolicy {
  kind: "full" | "naive" | "attnlink" | "prefix" | "craft";
  /** attnlink: tokens a boundary; prefix: share in [0, 1]; craft: alpha; 0 for full and naive. */
  amount: number;
  /** Number of last chunks that are recomputed whole; `kind` applies to the others. */
  last: number;
}

export const chunkKinds = ["short", "long"] as const;
/** short: an example, about 40 tokens; long: a document's piece, about 512. */
export type ChunkKind = (typeof chunkKinds)[number];

/** Chunks with at least this many tokens are long. */
export const longTokens = 128;

export const chunkKind = (tokens: number): ChunkKind => (tokens >= longTokens ? "long" : "short");

export type PolicyByKind = Readonly<Record<ChunkKind, LinkPolicy>>;

/** One policy for all chunks, or one for each kind. */
export type LinkPolicies = LinkPolicy | PolicyByKind;

export interface Problem {
  problem: string;
}

/** How the names of research policies look, whatever their numbers. */
const researched = /(^|\+)(blend|lego|random|attended)-|\+(focus|gap)$/;

/** What is wrong with the name instead of a policy, to be shown to who wrote it. */
export function parsePolicy(name: string): LinkPolicy | Problem {
  const parts = splitLast(name);
  const rest = parts === null ? null : restOf(parts.rest);
  if (parts !== null && rest !== null) return { ...rest, last: parts.last };
  if (researched.test(name))
    return {
      problem: `"${name}" is a research policy of linked prefill: benchmarks compare it, no arm serves it; choose last-M, attnlink-K or last-M+attnlink-K (such as last-2)`,
    };
  return {
    problem: `"${name}" is no policy of linked prefill: full, naive, attnlink-K, prefix-R, craft-A, last-M or last-M+ANOTHER (such as last-2+attnlink-4)`,
  };
}

/** The M and REST of "last-M+REST"; "last-M" has the rest naive, "REST" M = 0; null: neither. */
export function splitLast(name: string): { last: number; rest: string } | null {
  const [, digits, rest] = /^last-(\d{1,3})(?:\+(.+))?$/.exec(name) ?? [];
  if (digits === undefined) return name.startsWith("last-") ? null : { last: 0, rest: name };
  return Number(digits) < 1 ? null : { last: Number(digits), rest: rest ?? "naive" };
}

function restOf(name: string): Omit<LinkPolicy, "last"> | null {
  if (name === "full" || name === "naive") return { kind: name, amount: 0 };
  const [, kind, digits] = /^(attnlink|prefix|craft)-(\d{1,4}(?:\.\d{1,4})?)$/.exec(name) ?? [];
  const number = Number(digits);
  if (kind === "attnlink" && number >= 1 && Number.isInteger(number)) return { kind, amount: number };
  if (kind === "craft" && number > 0) return { kind, amount: number };
  return kind === "prefix" && number > 0 && number <= 100 ? { kind, amount: number / 100 } : null;
}

export function policyName({ kind, amount, last }: LinkPolicy): string {
  const number = kind === "prefix" ? Number((amount * 100).toPrecision(8)) : amount;
  const rest = kind === "full" || kind === "naive" ? kind : `${kind}-${number}`;
  if (last === 0) return rest;
  return kind === "naive" ? `last-${last}` : `last-${last}+${rest}`;
}

/** As parsePolicy, or "short:POLICY,long:POLICY" without prefix-R, a share of the whole prompt. */
export function parsePolicies(name: string): LinkPolicies | Problem {
  const [, short, long] = /^short:([^,]+),long:([^,]+)$/.exec(name) ?? [];
  if (short === undefined || long === undefined) return parsePolicy(name);
  const parsed = { short: parsePolicy(short), long: parsePolicy(long) };
  for (const one of [parsed.short, parsed.long]) {
    if ("problem" in one) return one;
    if (one.kind === "prefix") return { problem: `"${name}": prefix-R is for chunks of all kinds together` };
  }
  return parsed as PolicyByKind;
}

export const policiesName = (policies: LinkPolicies): string =>
  "kind" in policies ? policyName(policies) : pairName(policyName(policies.short), policyName(policies.long));

/** Whether the name is craft-A's, last-M or not. */
export function isCraft(name: string): boolean {
  const policy = parsePolicy(name);
  return !("problem" in policy) && policy.kind === "craft";
}

/** Whether chunks of so many tokens are recomputed by the scores of their caches. */
export const goesByScores = (policies: LinkPolicies, tokens: number): boolean =>
  ("kind" in policies ? policies : policies[chunkKind(tokens)]).kind === "craft";

export const pairName = (short: string, long: string): string => `short:${short},long:${long}`;

/** Kinds of the chunks, sorted. The first chunk is the system prompt, which has no kind. */
export function kindsOf(chunks: readonly { tokens: number }[]): ChunkKind[] {
  const found = new Set(chunks.slice(1).map(({ tokens }) => chunkKind(tokens)));
  return chunkKinds.filter((kind) => found.has(kind));
}

/** The policies that apply to the chunks; a single policy if all have one kind. */
export function policiesOf(policies: LinkPolicies, chunks: readonly { tokens: number }[]): LinkPolicies {
  const [kind, other] = kindsOf(chunks);
  return "kind" in policies || kind === undefined || other !== undefined ? policies : policies[kind];
}

/** Whether the policies link no chunk of any kind. */
export const linksNothing = (policies: LinkPolicies): boolean =>
  "kind" in policies
    ? policies.kind === "full" && policies.last === 0
    : linksNothing(policies.short) && linksNothing(policies.long);
