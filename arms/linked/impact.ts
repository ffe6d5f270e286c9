// Scores a chunk's cache: how much the chunk attends to the prefix that it was made behind, and
// which of its tokens do (Cache-Craft, 3.1 and 3.2). The policy craft recomputes these tokens.
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { contextImpact } from "../../algorithms/linked-prefill/context-impact.ts";
import type { Convention, Impact } from "../../connections/kv/port.ts";
import { lazily } from "../../connections/lazily.ts";
import { type KvType, LlamaError, type Range } from "../../connections/llama/port.ts";
import type { AttentionScores, LlamaScorer } from "../../connections/llama/scorer.ts";

export interface ScoringSetting {
  kvType: KvType;
  isOnCpu: boolean;
  convention: Convention;
  /** Whether the addon computes scattered tokens in one batch: else each costs craft a decode. */
  isScattered: boolean;
}

/** What an arm needs besides for its passages' caches to be scored; null: nothing. */
export function neededForScores({ kvType, isOnCpu, convention, isScattered }: ScoringSetting): string | null {
  if (kvType !== "f16") return "kvType f16";
  if (!isOnCpu) return "device cpu";
  // Only for these does idle time make caches behind a prefix.
  if (convention !== "context" && convention !== "system")
    return `linked.convention context or system: caches of the convention ${convention} have no scores`;
  if (isScattered) return null;
  return 'the scattered addon: run "npm run setup -- --scattered" and set PRECEDENT_LLAMA_SCATTERED=1';
}

/** A cache to be scored. id: of its chunk and convention. */
export interface Scored {
  id: string;
  /** Prefix chunks of the given lengths, then the chunk. */
  tokens: Int32Array;
  prefix: readonly number[];
  /** Those of scoredRanges. */
  caches: readonly Uint8Array[];
}

export type ImpactScorer = ReturnType<typeof createImpactScorer>;

/** A cache whose scoring fails so often stays without a score while the process runs. */
export const mostFailures = 3;

/** Tokens scored at a time: a request that comes waits for no more. */
const partTokens = 128;

/** Tokens whose caches a chunk is scored over: its prefix, then its parts but the last. */
export function scoredRanges(begin: number, end: number): Range[] {
  const ranges = [{ begin: 0, end: begin }];
  for (let at = begin; at + partTokens < end; at += partTokens) ranges.push({ begin: at, end: at + partTokens });
  return ranges;
}

/** Tokens of a prefix and its chunk together: the scorer's context has cells for so many. */
export const mostScoredTokens = 2_048;

/** Opens the scorer when the first cache is made; again after it could not be opened. */
export function createImpactScorer(
  open: () => Promise<Pick<LlamaScorer, "attention" | "close">>,
  log: Pick<Logger, "warn">,
) {
  const scorer = lazily(open);
  const failures = new LRUCache<string, number>({ max: 10_000 });
  /** Failures in a row of one cache, the most of any since the last score. */
  let logged = 0;

  return {
    /** Not what is too long (tokens: with its prefix), or has failed `mostFailures` times. */
    mayScore: (id: string, tokens: number): boolean =>
      tokens <= mostScoredTokens && (failures.get(id) ?? 0) < mostFailures,
    /** undefined: the model failed (logged). LlamaError cancelled (after a part), or closed. */
    async score({ id, tokens, prefix, caches }: Scored, signal: AbortSignal): Promise<Impact | undefined> {
      const starts = prefix.reduce((all, length) => [...all, all.at(-1)! + length], [0]);
      try {
        const { attention } = await scorer.get();
        const impact = impactOf(await inParts(attention, { tokens, starts }, caches, signal), prefix, starts.at(-1)!);
        failures.delete(id);
        logged = 0;
        return impact;
      } catch (error) {
        if (error instanceof LlamaError && (error.code === "cancelled" || error.code === "closed")) throw error;
        const failed = (failures.get(id) ?? 0) + 1;
        failures.set(id, failed);
        const again = failed < mostFailures ? "it is tried again when idle" : "it is not tried again";
        if (logged === 0 || (failed === mostFailures && logged < mostFailures))
          log.warn({ err: error, id }, `the cache of a passage can't be scored, craft computes it whole: ${again}`);
        logged = Math.max(logged, failed);
        return undefined;
      }
    },
    close: async (): Promise<void> => (await scorer.opened()?.catch(() => undefined))?.close(),
  };
}

/** Each part of the last chunk asks over all that stands before it; their sums are the chunk's. */
async function inParts(
  attention: LlamaScorer["attention"],
  { tokens, starts }: { tokens: Int32Array; starts: readonly number[] },
  caches: readonly Uint8Array[],
  signal: AbortSignal,
): Promise<AttentionScores> {
  const ranges = scoredRanges(starts.at(-1)!, tokens.length);
  const links: { blob: Uint8Array; position: number }[] = [];
  let all: AttentionScores | undefined;
  for (const [index, { begin }] of ranges.entries()) {
    if (signal.aborted) throw new LlamaError("cancelled", "a request came while a cache was scored");
    links.push({ blob: caches[index]!, position: begin });
    const end = ranges[index + 1]?.end ?? tokens.length;
    const part = await attention({ tokens: tokens.subarray(0, end), links: [...links], starts });
    all ??= { ...part, sums: new Float32Array(part.sums.length), before: new Float32Array(tokens.length) };
    for (const [at, sum] of part.sums.entries()) all.sums[at]! += sum;
    for (const [at, sum] of part.before.entries()) all.before[at]! += sum;
  }
  return all!;
}

/** The impact of the prefix on the last chunk, which begins at the token `begin`. */
export function impactOf(
  { layers, chunks, sums, before }: AttentionScores,
  prefix: readonly number[],
  begin: number,
): Impact {
  const at = (layer: number, from: number): number => sums[(layer * chunks + from) * chunks + chunks - 1] ?? 0;
  const byLayer = Array.from({ length: layers }, (_, layer) => ({
    inter: prefix.map((_length, from) => at(layer, from)),
    intra: at(layer, chunks - 1),
  }));
  return contextImpact(prefix, byLayer, before.subarray(begin));
}
