// Contents of a llama arm's process: one model in our addon, one context for all requests, the
// store of chunk caches, and idle work.
import { destination, pino } from "pino";
import { openDisk } from "../../connections/kv/disk.ts";
import { formatKey } from "../../connections/kv/keys.ts";
import type { KvStore } from "../../connections/kv/port.ts";
import { openKvStore } from "../../connections/kv/store.ts";
import { createChat } from "../../connections/llama/chat.ts";
import { llamaBuild } from "../../connections/llama/library.ts";
import { fingerprintOf, openLlamaModel } from "../../connections/llama/model.ts";
import { openScorer } from "../../connections/llama/scorer.ts";
import type { Piece } from "../../schemas/types.ts";
import type { Built } from "../linked/build.ts";
import { type Inventory, openInventory } from "../linked/inventory.ts";
import { createPrefetcher, type Prefetcher } from "../linked/prefetch.ts";
import { createIdleWork, type IdleWork } from "../linked/idle.ts";
import { createImpactScorer, mostScoredTokens, neededForScores } from "../linked/impact.ts";
import { createCacheMaker } from "../linked/make.ts";
import { createLinkedModel, type LinkedModel } from "../linked/model.ts";
import { type ChunkedPrompt, chunkPrompt } from "../linked/prompt.ts";
import type { LlamaFacts, LlamaInput } from "./methods.ts";
import { createPrefixCache, type PrefixCache } from "../linked/prefix-cache.ts";

export interface LoadedLlama extends Omit<LlamaFacts, "loadMs" | "pid"> {
  /** Without chunks where they can't be linked. */
  chunked(pieces: readonly Piece[]): ChunkedPrompt;
  textOf(tokens: Int32Array): string;
  model: LinkedModel;
  idle: IdleWork;
  /** Makes missing caches, one at least; none begins after `mostMs`. Rejects with LlamaError. */
  build(pieces: readonly Piece[], domain: string, signal: AbortSignal, mostMs?: number): Promise<Built>;
  store: KvStore;
  inventory: Inventory;
  prefixes: PrefixCache;
  prefetcher: Prefetcher;
  close(): Promise<void>;
}

/** Share of the cache memory for prefixes; the rest is for chunks. */
const prefixShare = 0.25;

/** Beyond it, what is made before it is needed would push out what is used. */
const fullShare = 0.9;

/** Bytes, from those of a whole prompt; what waits is fetched into half of the chunks' part. */
const usualMemory = (promptBytes: number): number =>
  Math.min(Math.max(Math.ceil((4 * promptBytes) / (1 - prefixShare)), 256 * 1_048_576), 4_096 * 1_048_576);

/** Rejects with LlamaError. */
export async function loadLlama({
  model: path,
  chatTemplate,
  system,
  linked,
  contextTokens,
  sequences,
  threads,
  kvType: wantedType,
  device,
  gpuLayers,
  flashAttention: wantedAttention,
}: LlamaInput): Promise<LoadedLlama> {
  const fingerprint = linked.fingerprint ?? (await fingerprintOf(path));
  const opened = await openLlamaModel({ path, fingerprint, device, gpuLayers: gpuLayers ?? undefined });
  const isOnCpu = opened.facts.devices.every((one) => one.startsWith("CPU"));
  const context = await opened.openContext({
    ...{ contextTokens, sequences, threads, kvType: wantedType, flashAttention: wantedAttention },
    // One context on a GPU, which computes several requests for the price of one, and for recurrent
    // models, which keep a state for every sequence of every context.
    ...(opened.facts.linkable && isOnCpu ? { contexts: sequences } : { contextTokens: contextTokens * sequences }),
  });
  const { unlinkable } = context;
  const { ropeHash, kvType, flashAttention } = context.format;
  const format = formatKey({ build: llamaBuild(), model: `${fingerprint} ${ropeHash}`, kvType, flashAttention });
  // What can't be kept is a warning of the arm's process: nothing is lost but time.
  const log = pino({ level: "warn" }, destination(2));
  const { convention, folder, diskBytes, keepInFull } = linked;
  const memoryBytes = linked.memoryBytes ?? usualMemory(contextTokens * context.format.tokenBytes);
  const disk = folder === null ? null : await openDisk(folder, format);
  const prefixBytes = Math.floor(memoryBytes * prefixShare);
  const chunkBytes = memoryBytes - prefixBytes;
  const store = await openKvStore({ format, memoryBytes: chunkBytes, disk, diskBytes, clock: Date.now, log });
  const prefixes = createPrefixCache(prefixBytes);
  const setting = { kvType: wantedType, isOnCpu, convention, isScattered: context.scattered };
  const scored = unlinkable === null && neededForScores(setting) === null;
  const scorer = scored
    ? createImpactScorer(() => openScorer(opened, { contextTokens: mostScoredTokens, threads }), log)
    : undefined;
  const maker = createCacheMaker({ context, store, format, convention, scorer });
  const model = createLinkedModel({ context, store, format, convention, keepInFull, prefixes });
  const inventory = await openInventory({ store, folder, log });
  const { name, vocabulary, devices } = opened.facts;
  const chat = createChat(chatTemplate === null ? opened : { ...opened, facts: { ...opened.facts, chatTemplate } });
  const chunkedOf = (pieces: readonly Piece[]): ChunkedPrompt => {
    const prompt = chunkPrompt(pieces, chat, system);
    return unlinkable === null ? prompt : { ...prompt, chunks: [], turnEnds: [] };
  };
  const isFull = (): boolean => {
    const { diskBytes: onDisk, memoryBytes: inMemory } = store.stats();
    return disk === null ? inMemory > fullShare * chunkBytes : onDisk > fullShare * diskBytes;
  };
  return {
    ...{ name, fingerprint, devices, flashAttention, unlinkable, scored, model, store, inventory, prefixes },
    chunked: chunkedOf,
    textOf: (tokens) => opened.detokenize(tokens),
    prefetcher: createPrefetcher({ store, convention }),
    idle: createIdleWork({ model, maker, vocabulary }),
    async build(pieces, domain, signal, mostMs = Infinity) {
      const chunked = chunkedOf(pieces);
      const prompt = model.keyed(chunked, domain);
      inventory.seen(chunked.chunks, prompt.chunks, domain);
      const end = performance.now() + mostMs;
      const isOfExamples = chunked.chunks.every(({ kind }) => kind !== "document");
      let [left, caches, tokens] = [maker.wanted(prompt, isOfExamples), 0, 0];
      while (left.length > 0 && !isFull() && (caches === 0 || performance.now() < end)) {
        const made = await maker.make(left, signal);
        left = left.filter((one) => !made.done.includes(one));
        caches += made.caches;
        tokens += made.tokens;
      }
      return { caches, tokens, full: isFull(), left: left.length };
    },
    async close() {
      await context.close();
      await scorer?.close();
      await inventory.save();
      await store.close();
      opened.close();
    },
  };
}
