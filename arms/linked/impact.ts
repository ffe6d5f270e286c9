// Scores a chunk's cache: how much the chunk attends to the prefix that it was made behind, and
// which of its tokens do (Cache-Craft, 3.1 and 3.2). The policy craft recomputes these tokens.
import { contextImpact } from "../../algorithms/linked-prefill/context-impact.ts";
import type { Impact } from "../../connections/kv/port.ts";
import type { LlamaScorer } from "../../connections/llama/scorer.ts";

export interface ImpactScorer {
  /**
   * tokens: prefix chunks of the given lengths, then the chunk; behind: the prefix's cache.
   * undefined: too long to be scored. Rejects with LlamaError.
   */
  score(tokens: Int32Array, prefix: readonly number[], behind: Uint8Array): Promise<Impact | undefined>;
  close(): Promise<void>;
}

/** Tokens of a prefix and its chunk together: the scorer's context has cells for so many. */
export const mostScoredTokens = 2_048;

/** Opens the scorer when the first cache is made. */
export function createImpactScorer(open: () => Promise<Pick<LlamaScorer, "attention" | "close">>): ImpactScorer {
  let scorer: ReturnType<typeof open> | undefined;
  return {
    async score(tokens, prefix, behind) {
      if (tokens.length > mostScoredTokens) return undefined;
      const starts = prefix.reduce((all, length) => [...all, all.at(-1)! + length], [0]);
      const { attention } = await (scorer ??= open());
      const links = [{ blob: behind, position: 0 }];
      return impactOf(await attention({ tokens, links, starts }), prefix, starts.at(-1)!);
    },
    close: async () => (await scorer?.catch(() => undefined))?.close(),
  };
}

/** The impact of the prefix on the last chunk, which begins at the token `begin`. */
export function impactOf(
  { layers, chunks, sums, before }: Awaited<ReturnType<LlamaScorer["attention"]>>,
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
