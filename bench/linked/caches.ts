// The chunk caches of a prompt under a convention, made as an arm makes them, and what a scoring
// pass says of them. What several conventions need (a chunk behind the system prompt) is computed
// once; nothing outlives its prompt but the system prompt's own cache.
import { reusabilityScore } from "../../algorithms/linked-prefill/chunk-scores.ts";
import type { PlannedChunk } from "../../algorithms/linked-prefill/link-plan.ts";
import { firstContext } from "../../arms/linked/context.ts";
import { impactOf } from "../../arms/linked/impact.ts";
import type { KnownChunk } from "./research/plan.ts";
import type { LlamaContext, Prompt } from "../../connections/llama/port.ts";
import type { LlamaScorer } from "../../connections/llama/scorer.ts";
import type { Item } from "./prompts.ts";

/**
 * `context-1` is what `context` would be with one chunk; `seen`: all that stood before the chunk,
 * as the prefill that it was first seen in has it; `context+system`: as `context`, but what stands
 * first here has its cache from behind the system prompt alone, as arms of `context` have it.
 */
export const conventions = ["alone", "system", "context", "context+system", "context-1", "seen"] as const;
export type Convention = (typeof conventions)[number];

export interface Caches {
  /** Blob of each chunk. */
  blobs: Uint8Array[];
  /** What the policies need to know. */
  chunks: PlannedChunk[];
  /** For each chunk the caches of what it was cached behind, in place. */
  prefixes: NonNullable<Prompt["links"]>[];
}

type Run = (prompt: Prompt) => ReturnType<LlamaContext["run"]>;

/** Caches by the tokens that they were made of and behind. */
export type MadeCaches = Map<string, Uint8Array>;

export async function makeCaches(
  item: Item,
  convention: Convention,
  run: Run,
  made: MadeCaches = new Map(),
): Promise<Caches> {
  const parts = partsOf(item);
  const system = parts[0]!;
  const once = async (tokens: Int32Array, length: number, links: Prompt["links"] = []): Promise<Uint8Array> => {
    const key = `${length} of ${tokens.join()}`;
    const exports = [{ begin: tokens.length - length, end: tokens.length }];
    const blob = made.get(key) ?? (await run({ tokens, links, exports })).blobs[0]!;
    made.set(key, blob);
    return blob;
  };
  // Each part's cache is exact where it stands: as though all were prefilled.
  const behind = async (all: readonly Int32Array[]) => {
    const links: { blob: Uint8Array; position: number }[] = [];
    for (const [index, part] of all.entries()) {
      const tokens = joined(all.slice(0, index + 1));
      links.push({ blob: await once(tokens, part.length, [...links]), position: tokens.length - part.length });
    }
    return { blob: links.at(-1)!.blob, prefix: links.slice(0, -1) };
  };
  const blobs = [(await behind([system])).blob];
  const prefixes: Caches["prefixes"] = [[]];
  const chunks: PlannedChunk[] = [{ length: system.length, state: "exact" }];
  for (const [index, part] of parts.entries()) {
    if (index === 0) continue;
    const prefix = prefixOf(item, index, convention);
    const cached = await behind([...prefix, part]);
    blobs.push(cached.blob);
    prefixes.push(cached.prefix);
    chunks.push({ length: part.length, state: index === 1 && prefix.length === 1 ? "exact" : "linked" });
  }
  return { blobs, chunks, prefixes };
}

const partsOf = ({ tokens, chunks }: Item): Int32Array[] => chunks.map(({ begin, end }) => tokens.slice(begin, end));

/** Tokens of the chunks that a chunk of the item, not the system prompt, is cached behind. */
export function prefixOf({ earlier }: Item, index: number, convention: Convention): Int32Array[] {
  const { chunks, at } = earlier[index]!;
  if (convention === "alone") return [];
  if (convention === "system" || (convention === "context+system" && index === 1)) return chunks.slice(0, 1);
  if (convention === "seen") return chunks.slice(0, at);
  const lengths = chunks.map(({ length: tokens }) => ({ tokens }));
  const context = firstContext(lengths, at).slice(convention === "context-1" ? -1 : 0);
  return [0, ...context].map((one) => chunks[one]!);
}

/** Cache-Craft's scores of caches; costs a prefill of each. An exact one is never repaired. */
export async function withImpact(
  item: Item,
  convention: Convention,
  { chunks, prefixes }: Pick<Caches, "chunks" | "prefixes">,
  scorer: LlamaScorer,
): Promise<KnownChunk[]> {
  const parts = partsOf(item);
  const key = (tokens: Int32Array): string => tokens.join();
  const scored: KnownChunk[] = [];
  for (const [index, chunk] of chunks.entries()) {
    const prefix = index === 0 ? [] : prefixOf(item, index, convention);
    if (prefix.length === 0 || chunk.state === "exact") {
      scored.push(chunk);
      continue;
    }
    const starts = [0];
    for (const { length } of prefix) starts.push(starts.at(-1)! + length);
    const scores = await scorer.attention({
      ...{ tokens: joined([...prefix, parts[index]!]), links: prefixes[index]!, starts },
    });
    const lengths = prefix.map(({ length }) => length);
    const { cci, inter, ranking } = impactOf(scores, lengths, starts.at(-1)!);
    const old = prefix.map((part, i) => ({ id: key(part), inter: inter[i]! }));
    const now = parts.slice(0, index).map((part) => ({ id: key(part), tokens: part.length }));
    scored.push({
      ...chunk,
      impact: { score: reusabilityScore({ cci, prefix: old }, now, { countNew: true }), ranking },
    });
  }
  return scored;
}

export function joined(parts: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
