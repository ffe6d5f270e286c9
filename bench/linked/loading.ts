// What a chunk's cache costs from disk against computing it again (docs/design/linked-prefill.md,
// The store: T_load / T_prefill), and how many layers would have to be there before computing could
// begin, were they loaded one by one.
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { preloadDepth } from "./research/focus.ts";
import { openDisk } from "../../connections/kv/disk.ts";
import { chunkKey, everybody, variantKey } from "../../connections/kv/keys.ts";
import type { LlamaContext } from "../../connections/llama/port.ts";
import { mean, median, significant } from "../support/statistics.ts";
import { makeCaches, prefixOf, joined } from "./caches.ts";
import type { Item } from "./prompts.ts";

export interface Loading {
  workload: string;
  /** Mean tokens of a chunk. */
  tokens: number;
  bytes: number;
  /**
   * Milliseconds a chunk: read with its checksum verified, and prefilled behind the system prompt;
   * medians.
   */
  load_ms: number;
  prefill_ms: number;
  /** load_ms / prefill_ms. */
  ratio: number;
  /** 1 to `layers`. */
  preload_depth: number;
  layers: number;
}

export interface LoadingOptions {
  workload: string;
  item: Item;
  context: LlamaContext;
  layers: number;
  /** Where files may be written; one folder is made in it and removed. */
  folder: string;
  signal: AbortSignal;
}

// Any 64 hexadecimal digits: only this benchmark reads these files.
const format = "0".repeat(64);

export async function measureLoading(options: LoadingOptions): Promise<Loading> {
  const { workload, item, context, layers, signal } = options;
  const folder = await mkdtemp(join(options.folder, "loading-"));
  try {
    const disk = await openDisk(folder, format);
    const { blobs } = await makeCaches(item, "system", (prompt) => context.run(prompt, { signal }));
    const loads: number[] = [];
    const prefills: number[] = [];
    const lengths: number[] = [];
    for (const [index, { begin, end }] of item.chunks.entries()) {
      if (index === 0) continue;
      const part = item.tokens.slice(begin, end);
      const named = { chunk: chunkKey(format, everybody, Array.from(part)), convention: "system", prefix: [] } as const;
      const key = variantKey(format, named);
      const blob = blobs[index]!;
      await disk.write({ ...named, key, tokens: part.length, bytes: blob.length, createdAt: 0 }, blob);
      const began = performance.now();
      const read = await disk.read(key);
      loads.push(performance.now() - began);
      if (read?.ok !== true) throw new Error("a cache just written can't be read");

      const tokens = joined([...prefixOf(item, index, "system"), part]);
      const before = process.cpuUsage();
      await context.run({ tokens, links: [{ blob: blobs[0]!, position: 0 }] }, { signal });
      const { user, system } = process.cpuUsage(before);
      prefills.push((user + system) / 1000);
      lengths.push(part.length);
    }
    const [load, prefill] = [median(loads), median(prefills)];
    return {
      workload,
      tokens: significant(mean(lengths)),
      bytes: significant(mean(blobs.slice(1).map(({ length }) => length))),
      load_ms: significant(load),
      prefill_ms: significant(prefill),
      ratio: significant(load / prefill),
      preload_depth: preloadDepth(layers, prefill, load),
      layers,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
