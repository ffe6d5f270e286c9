// Worker of the llama arm, a process of its own: one model, one context, one sequence for each request that may be under way.
import { basename } from "node:path";
import { getLlama, LlamaLogLevel, type LlamaModel, type Token } from "node-llama-cpp";
import { serveCalls, workerInput } from "../connections/worker/rpc.ts";
import { generate, type KeptSequence, reusable } from "./llama-generate.ts";
import type { LlamaEvent, LlamaFacts, LlamaInput, LlamaMethods } from "./llama-methods.ts";
import { createPromptTokenizer } from "./llama-prompt.ts";
import { type ChatMessage, chatMessages } from "./messages.ts";
import { seldom } from "./seldom.ts";

interface Loaded {
  model: LlamaModel;
  promptTokens: (messages: readonly ChatMessage[]) => Token[];
  free: KeptSequence[];
  dispose: () => Promise<void>;
}

const input = workerInput<LlamaInput>();
let loaded: Loaded | null = null;

async function load(): Promise<LlamaFacts> {
  const started = performance.now();
  // The prebuilt library of the package or none: nothing is compiled or downloaded while requests wait.
  const llama = await getLlama({
    build: "never",
    skipDownload: true,
    gpu: false,
    progressLogs: false,
    logLevel: LlamaLogLevel.error,
    maxThreads: input.threads,
  });
  const model = await llama.loadModel({ modelPath: input.model });
  const context = await model.createContext({
    sequences: input.sequences,
    contextSize: input.contextTokens,
    threads: input.threads,
  });
  loaded = {
    model,
    promptTokens: createPromptTokenizer(model),
    free: Array.from({ length: input.sequences }, () => ({ state: context.getSequence(), whole: 0 })),
    dispose: () => llama.dispose(),
  };
  return {
    name: model.fileInfo.metadata.general.name ?? basename(input.model),
    loadMs: performance.now() - started,
    pid: process.pid,
    fingerprint: null,
  };
}

serveCalls<LlamaMethods>(
  {
    load,
    generate: async (wanted, { signal, emit }) => {
      if (loaded === null) throw new Error("generate was called before load");
      const { model, free } = loaded;
      const prompt = loaded.promptTokens(chatMessages(wanted.pieces));
      const sequence = takeNearest(free, prompt);
      const send = (event: LlamaEvent): void => emit(event);
      const progress = seldom(() => send({ kind: "progress" }));
      const onText = wanted.stream ? (text: string) => send({ kind: "text", text }) : () => undefined;
      try {
        const within = { model, sequence, limit: input.contextTokens };
        return await generate(within, prompt, wanted, { signal, onText, onProgress: progress });
      } catch (error) {
        // What the sequence holds now is not known.
        await sequence.state.clearHistory();
        sequence.whole = 0;
        throw error;
      } finally {
        free.push(sequence);
      }
    },
    idle: () => Promise.resolve({ more: false, samples: [] }),
  },
  () => loaded?.dispose(),
);

/** The free sequence that holds most of the prompt. */
function takeNearest(free: KeptSequence[], prompt: Token[]): KeptSequence {
  const held = free.map((sequence) => reusable(sequence, prompt));
  const [sequence] = free.splice(held.indexOf(Math.max(...held)), 1);
  if (sequence === undefined) throw new Error("more requests than sequences");
  return sequence;
}
