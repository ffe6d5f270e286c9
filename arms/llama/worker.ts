// Worker process of the llama arm: answers requests and does idle work.
import { linksNothing, parsePolicies, policiesName, policiesOf } from "../../algorithms/linked-prefill/link-policy.ts";
import { LlamaError } from "../../connections/llama/port.ts";
import { serveCalls, workerInput } from "../../connections/worker/rpc.ts";
import type { ChunkedPrompt } from "../linked/prompt.ts";
import { type LoadedLlama, loadLlama } from "./load.ts";
import type { Generate, Generated, LlamaEvent, LlamaFacts, LlamaInput, LlamaMethods } from "./methods.ts";
import { throttle } from "./throttle.ts";

const input = workerInput<LlamaInput>();
let loaded: LoadedLlama | null = null;
let refreshed = 0;
/** What other processes did to the folder is taken in this often, in milliseconds. */
const refreshMs = 5_000;
/** A document may have thousands of caches, and under load a step is not stopped. */
const buildStepMs = 1_000;

async function load(): Promise<LlamaFacts> {
  const started = performance.now();
  loaded = await loadLlama(input);
  const { name, fingerprint, devices, flashAttention, unlinkable, scored } = loaded;
  const loadMs = performance.now() - started;
  return { name, fingerprint, devices, flashAttention, unlinkable, scored, loadMs, pid: process.pid };
}

async function generate(
  wanted: Generate,
  { signal, emit }: { signal: AbortSignal; emit: (event: unknown) => void },
): Promise<Generated> {
  if (loaded === null) throw new Error("generate was called before load");
  const { chunked: chunkedOf, model, idle, inventory, unlinkable } = loaded;
  const policy = parsePolicies(unlinkable === null ? wanted.policy : "full");
  if ("problem" in policy) throw new Error(policy.problem);
  let chunked: ChunkedPrompt;
  try {
    chunked = chunkedOf(wanted.pieces);
  } catch (error) {
    if (error instanceof LlamaError && error.code === "model_unsupported")
      return { kind: "refused", message: error.message };
    throw error;
  }
  const { domain, mayStore } = wanted.caching;
  const prompt = model.keyed(chunked, domain);
  const length = prompt.tokens.length;
  if (length >= input.contextTokens) return { kind: "tooLarge", prompt: length, limit: input.contextTokens };
  const send = (event: LlamaEvent): void => emit(event);
  const progress = throttle(() => send({ kind: "progress" }));
  const { temperature, topP, seed, stop } = wanted;
  const maxTokens = Math.min(wanted.maxTokens, input.contextTokens - length);
  try {
    const answered = await model.answer(
      prompt,
      policy,
      { maxTokens, temperature, topP, seed, stop },
      {
        signal,
        keep: mayStore,
        onProgress: progress,
        ...(wanted.stream && { onText: (text) => send({ kind: "text", text }) }),
      },
    );
    const { result, linked, recomputed, prefilled, firstTokenMs } = answered;
    // What links nothing wants no caches either.
    if (mayStore && !linksNothing(policy)) idle.seen(prompt);
    if (mayStore) inventory.seen(chunked.chunks, prompt.chunks, domain);
    if (mayStore && wanted.compare !== null) idle.compare(prompt, result.generated, wanted.compare);
    return {
      kind: "done",
      text: result.text,
      finishReason: result.finish === "length" ? "length" : "stop",
      stop: result.finish === "stop" ? endedBy(stop, result.text, loaded.textOf(result.generated)) : undefined,
      // Without caches, or with none to be used, all of it is prefilled.
      linkPolicy: mayStore && prompt.chunks.length > 0 ? policiesName(policiesOf(policy, prompt.chunks)) : "full",
      ...{ prompt: length, linked, recomputed, prefilled, completion: result.generated.length, firstTokenMs },
    };
  } catch (error) {
    if (error instanceof LlamaError && error.code === "cancelled") return { kind: "cancelled" };
    throw error;
  }
}

/** The stop string behind the text in all that was generated. */
function endedBy(stops: readonly string[], text: string, generated: string): string | undefined {
  const rest = generated.startsWith(text) ? generated.slice(text.length) : "";
  return stops.find((stop) => rest.startsWith(stop));
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
    async build({ pieces, domain }, { signal }) {
      if (loaded === null) throw new Error("build was called before load");
      return loaded.build(pieces, domain, signal, buildStepMs);
    },
    async prefetch({ pieces, policy, domain }, { signal }) {
      const parsed = parsePolicies(policy);
      if (loaded === null || "problem" in parsed) return;
      const { chunked, model, prefetcher } = loaded;
      await prefetcher.waiting(() => model.keyed(chunked(pieces), domain), parsed, signal);
    },
    inventory: () => loaded?.inventory.summary() ?? null,
    cached: () => loaded?.inventory.cached() ?? { examples: [], documents: [] },
    async forget(cached) {
      if (loaded === null) return 0;
      const chunks = loaded.inventory.forget(cached);
      loaded.idle.forget(chunks);
      loaded.prefixes.forget(chunks);
      const removed = await loaded.store.forget(chunks);
      await loaded.inventory.save();
      return removed;
    },
  },
  () => loaded?.close(),
);
