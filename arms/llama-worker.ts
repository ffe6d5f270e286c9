// Worker of the llama arm, a process of its own: one model in our addon, one context for all requests, the store of chunk caches.
import { destination, pino } from "pino";
import { parsePolicy } from "../algorithms/link-policy.ts";
import { splitmix64 } from "../algorithms/random.ts";
import { openDisk } from "../connections/kv/disk.ts";
import { formatKey } from "../connections/kv/keys.ts";
import type { KvStore } from "../connections/kv/port.ts";
import { openKvStore } from "../connections/kv/store.ts";
import { createChat } from "../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel } from "../connections/llama/model.ts";
import { LlamaError } from "../connections/llama/port.ts";
import { serveCalls, workerInput } from "../connections/worker/rpc.ts";
import { type Inventory, openInventory } from "./link-inventory.ts";
import type { LinkPlansOptions } from "./link-plans.ts";
import { createPrefetcher, type Prefetcher } from "./link-prefetch.ts";
import { createIdleWork, type IdleWork } from "./linked-idle.ts";
import { createLinkedModel, type LinkedModel } from "./linked-model.ts";
import { chunkPrompt } from "./linked-prompt.ts";
import type { Generate, Generated, LlamaEvent, LlamaFacts, LlamaInput, LlamaMethods } from "./llama-methods.ts";
import { createPrefixCache } from "./prefix-cache.ts";
import { seldom } from "./seldom.ts";

interface Loaded {
  chat: ReturnType<typeof createChat>;
  model: LinkedModel;
  idle: IdleWork;
  store: KvStore;
  inventory: Inventory;
  prefetcher: Prefetcher;
  close: () => Promise<void>;
}

const input = workerInput<LlamaInput>();
let loaded: Loaded | null = null;
let refreshed = 0;
/** What other processes did to the folder is taken in this often, in milliseconds. */
const refreshMs = 5_000;

async function load(): Promise<LlamaFacts> {
  const started = performance.now();
  const { linked } = input;
  const fingerprint = linked.fingerprint ?? (await fingerprintOf(input.model));
  const opened = await openLlamaModel({ path: input.model, fingerprint });
  const context = await opened.openContext({
    contextTokens: input.contextTokens * input.sequences,
    sequences: input.sequences,
    threads: input.threads,
  });
  const { ropeHash, kvType, flashAttention } = context.format;
  const format = formatKey({ model: `${fingerprint} ${ropeHash}`, kvType, flashAttention });
  // What can't be kept is a warning of the arm's process: nothing is lost but time.
  const log = pino({ level: "warn" }, destination(2));
  const { convention, folder, memoryBytes, diskBytes } = linked;
  const disk = folder === null ? null : await openDisk(folder, format);
  const prefixBytes = Math.floor(memoryBytes / 4);
  const prefixes = createPrefixCache(prefixBytes);
  const chunkBytes = memoryBytes - prefixBytes;
  const store = await openKvStore({ format, memoryBytes: chunkBytes, disk, diskBytes, clock: Date.now, log });
  const { contextTokens, threads } = input;
  const scorer = linked.scored ? await opened.openScorer({ contextTokens, threads }) : undefined;
  const deviations: LinkPlansOptions["deviations"] =
    scorer &&
    (async (tokens, links) => {
      const { keys, values } = await scorer.deviations({ tokens, links });
      return keys.map((key, token) => key + (values[token] ?? 0));
    });
  const model = createLinkedModel({
    context,
    store,
    format,
    convention,
    random: splitmix64(1),
    deviations,
    scorer,
    prefixes,
  });
  const inventory = await openInventory({ store, folder, log });
  const { vocabulary } = opened.facts;
  loaded = {
    chat: createChat(opened),
    model,
    store,
    inventory,
    prefetcher: createPrefetcher({ store, convention }),
    idle: createIdleWork({ model, context, store, format, convention, vocabulary, scorer }),
    async close() {
      await scorer?.close();
      await context.close();
      await inventory.save();
      await store.close();
      opened.close();
    },
  };
  return { name: opened.facts.name, loadMs: performance.now() - started, pid: process.pid, fingerprint };
}

async function generate(
  wanted: Generate,
  { signal, emit }: { signal: AbortSignal; emit: (event: unknown) => void },
): Promise<Generated> {
  if (loaded === null) throw new Error("generate was called before load");
  const { chat, model, idle, inventory } = loaded;
  const policy = parsePolicy(wanted.policy);
  if ("problem" in policy) throw new Error(policy.problem);
  const chunked = chunkPrompt(wanted.pieces, chat);
  const prompt = model.keyed(chunked);
  const length = prompt.tokens.length;
  if (length >= input.contextTokens) return { kind: "tooLarge", prompt: length, limit: input.contextTokens };
  const send = (event: LlamaEvent): void => emit(event);
  const progress = seldom(() => send({ kind: "progress" }));
  const { temperature, topP, seed, stop } = wanted;
  const maxTokens = Math.min(wanted.maxTokens, input.contextTokens - length);
  try {
    const answered = await model.answer(
      prompt,
      policy,
      { maxTokens, temperature, topP, seed, stop },
      { signal, onProgress: progress, ...(wanted.stream && { onText: (text) => send({ kind: "text", text }) }) },
    );
    const { result, linked, recomputed, prefilled, firstTokenMs } = answered;
    idle.seen(prompt);
    inventory.seen(chunked.chunks, prompt.chunks);
    if (wanted.compare !== null) idle.compare(prompt, result.generated, wanted.compare);
    return {
      kind: "done",
      text: result.text,
      finishReason: result.finish === "length" ? "length" : "stop",
      ...{ prompt: length, linked, recomputed, prefilled, completion: result.generated.length, firstTokenMs },
    };
  } catch (error) {
    if (error instanceof LlamaError && error.code === "cancelled") return { kind: "cancelled" };
    throw error;
  }
}

serveCalls<LlamaMethods>(
  {
    load,
    generate,
    async idle(_argument, { signal }) {
      if (loaded === null) return { more: false, samples: [] };
      if (performance.now() - refreshed > refreshMs) {
        await loaded.store.refresh();
        await loaded.inventory.save();
        refreshed = performance.now();
      }
      try {
        return await loaded.idle.next(signal);
      } catch (error) {
        // A request came, and goes before.
        if (error instanceof LlamaError && error.code === "cancelled") return { more: true, samples: [] };
        throw error;
      }
    },
    async prefetch({ pieces, policy }, { signal }) {
      const parsed = parsePolicy(policy);
      if (loaded === null || "problem" in parsed) return;
      const { chat, model, prefetcher } = loaded;
      await prefetcher.waiting(() => model.keyed(chunkPrompt(pieces, chat)), parsed, signal);
    },
    inventory: () => loaded?.inventory.summary() ?? null,
  },
  () => loaded?.close(),
);
