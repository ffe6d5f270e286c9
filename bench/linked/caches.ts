// The chunk caches of a prompt under a convention, made as an arm makes them, and what a scoring pass says of them. What several conventions need
// (a chunk behind the system prompt) is computed once; nothing outlives its prompt but the system prompt's own cache.
import { contextImpact, reusabilityScore } from "../../algorithms/chunk-scores.ts";
import type { PlannedChunk } from "../../algorithms/link-plan.ts";
import type { LlamaContext, LlamaScorer, Prompt } from "../../connections/llama/port.ts";
import type { Item } from "./prompts.ts";

export const conventions = ["alone", "system", "context"] as const;
export type Convention = (typeof conventions)[number];

export interface Caches {
  /** Of each chunk. */
  blobs: Uint8Array[];
  /** What the policies need to know. */
  chunks: PlannedChunk[];
}

type Run = (prompt: Prompt) => ReturnType<LlamaContext["run"]>;

/** The prefix is linked from the caches of its parts, which are exact where they stand in it: as though all of it were prefilled. */
export async function makeCaches(item: Item, convention: Convention, run: Run): Promise<Caches> {
  const parts = item.chunks.map(({ begin, end }) => item.tokens.slice(begin, end));
  const system = await cacheOf(parts[0]!, [], run);
  const blobs = [system];
  for (const [index, part] of parts.entries()) {
    if (index === 0) continue;
    const prefix: Cached[] = convention === "alone" ? [] : [{ tokens: parts[0]!, blob: system }];
    if (convention === "context") {
      const tokens = item.neighbours[index]!;
      prefix.push({ tokens, blob: await cacheOf(tokens, prefix, run) });
    }
    blobs.push(await cacheOf(part, prefix, run));
  }
  return {
    blobs,
    chunks: parts.map((part, index) => ({
      length: part.length,
      state: index === 0 || (index === 1 && convention === "system") ? "exact" : "linked",
    })),
  };
}

interface Cached {
  tokens: Int32Array;
  blob: Uint8Array;
}

async function cacheOf(tokens: Int32Array, prefix: readonly Cached[], run: Run): Promise<Uint8Array> {
  const links: { blob: Uint8Array; position: number }[] = [];
  let position = 0;
  for (const { tokens: before, blob } of prefix) {
    links.push({ blob, position });
    position += before.length;
  }
  const all = joined([...prefix.map((one) => one.tokens), tokens]);
  const { blobs } = await run({ tokens: all, links, exports: [{ begin: position, end: all.length }] });
  return blobs[0]!;
}

/** Cache-Craft's scores of caches made in their first context; costs a prefill of each with its prefix. */
export async function withImpact(item: Item, chunks: readonly PlannedChunk[], scorer: LlamaScorer) {
  const parts = item.chunks.map(({ begin, end }) => item.tokens.slice(begin, end));
  const key = (tokens: Int32Array): string => tokens.join();
  const system = parts[0]!;
  const scored: PlannedChunk[] = [];
  for (const [index, chunk] of chunks.entries()) {
    const neighbour = item.neighbours[index] ?? null;
    if (neighbour === null) {
      scored.push(chunk);
      continue;
    }
    const begin = system.length + neighbour.length;
    const tokens = joined([system, neighbour, parts[index]!]);
    const { layers, sums, before } = await scorer.attention({ tokens, starts: [0, system.length, begin] });
    const at = (layer: number, from: number): number => sums[(layer * 3 + from) * 3 + 2] ?? 0;
    const { cci, inter, ranking } = contextImpact(
      [system.length, neighbour.length],
      Array.from({ length: layers }, (_, layer) => ({ inter: [at(layer, 0), at(layer, 1)], intra: at(layer, 2) })),
      before.subarray(begin),
    );
    const prefix = [system, neighbour].map((part, i) => ({ id: key(part), inter: inter[i]! }));
    const now = parts.slice(0, index).map((part) => ({ id: key(part), tokens: part.length }));
    scored.push({ ...chunk, impact: { score: reusabilityScore({ cci, prefix }, now, { countNew: true }), ranking } });
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
