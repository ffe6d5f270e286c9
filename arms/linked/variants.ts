// Chooses and rates the stored cache of each chunk of a prompt (Cache-Craft, 3.3). Pure.
import { reusabilityScore } from "../../algorithms/linked-prefill/chunk-scores.ts";
import { goesByScores, type LinkPolicies } from "../../algorithms/linked-prefill/link-policy.ts";
import type { PlannedChunk } from "../../algorithms/linked-prefill/link-plan.ts";
import type { Convention, KvListed, PrefixChunk } from "../../connections/kv/port.ts";

export interface KeyedChunk extends PrefixChunk {
  begin: number;
}

export interface ChosenVariant extends PlannedChunk {
  chunk: KeyedChunk;
  /** null: missing. */
  variant: KvListed | null;
  /** CCI (1 - beta'), [0, 1]: what a use of it costs in repair. */
  score: number;
}

/** CCI of a cache that no scoring pass has looked at. */
const assumedImpact = 0.75;

/** Conventions whose caches may be used for the wanted one. */
const allowed: Readonly<Record<Convention, readonly Convention[]>> = {
  alone: ["alone"],
  system: ["system"],
  context: ["context", "seen", "linked", "system", "alone"],
  // What was seen first of all was seen alone.
  seen: ["seen", "linked", "alone"],
  linked: ["seen", "linked", "alone"],
};

/** Used if no other variant exists, or if exact: first behind the system prompt. */
const lastResorts: Partial<Record<Convention, readonly Convention[]>> = { context: ["system", "alone"] };

/** `policies`: where they go by scores, caches that have one are taken first. */
export function chooseVariants(
  chunks: readonly KeyedChunk[],
  variantsOf: (chunk: string) => readonly KvListed[],
  convention: Convention,
  policies?: LinkPolicies,
): ChosenVariant[] {
  let exactSoFar = true;
  return chunks.map((chunk, index): ChosenVariant => {
    const before = chunks.slice(0, index);
    const now = before.map(({ chunk: id, tokens }) => ({ id, tokens }));
    const variants = variantsOf(chunk.chunk);
    const exact = exactSoFar ? variants.find((variant) => isExact(variant, before)) : undefined;
    exactSoFar = exact !== undefined;
    const length = chunk.tokens;
    if (exact !== undefined) return { chunk, length, state: "exact", variant: exact, score: 0 };
    const isUnfit = ({ impact }: KvListed): number =>
      Number(impact === undefined && policies !== undefined && goesByScores(policies, length));
    const scored = variants
      .filter((variant) => allowed[convention].includes(variant.convention))
      .map((variant) => ({ variant, score: scoreOf(variant, now) }))
      .sort(
        (a, b) =>
          isUnfit(a.variant) - isUnfit(b.variant) ||
          resort(convention, a.variant) - resort(convention, b.variant) ||
          a.score - b.score ||
          rank(convention, a.variant) - rank(convention, b.variant),
      );
    const [best] = scored;
    if (best === undefined) return { chunk, length, state: "missing", variant: null, score: 1 };
    const { variant, score } = best;
    const impact = variant.impact && { score, ranking: variant.impact.ranking };
    return { chunk, length, state: "linked", variant, score, impact };
  });
}

/** Made behind the same chunks, so that nothing of it need be computed again. */
export function isExact({ convention, prefix }: KvListed, before: readonly KeyedChunk[]): boolean {
  if (convention === "linked" || prefix.length !== before.length) return false;
  return prefix.every(({ chunk }, index) => chunk === before[index]?.chunk);
}

/** Where nothing is known of it, attention on a prefix is taken to be as its tokens are. */
function scoreOf({ prefix, impact }: KvListed, now: readonly { id: string; tokens: number }[]): number {
  const old = prefix.map(({ chunk, tokens }, index) => ({ id: chunk, inter: impact?.inter[index] ?? tokens }));
  return reusabilityScore({ cci: impact?.cci ?? assumedImpact, prefix: old }, now, { countNew: true });
}

const rank = (convention: Convention, { convention: made }: KvListed): number => allowed[convention].indexOf(made);
const resort = (convention: Convention, { convention: made }: KvListed): number =>
  Number(lastResorts[convention]?.includes(made) ?? false);
