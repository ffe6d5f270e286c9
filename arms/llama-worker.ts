// Worker of the llama arm, a process of its own: one model, one context, one sequence for each request that may be under way.
import { basename } from "node:path";
import { getLlama, LlamaLogLevel, type LlamaModel, type Token } from "node-llama-cpp";
import { serveCalls, workerInput } from "../connections/worker/rpc.ts";
import { generate, type KeptSequence, reusable } from "./llama-generate.ts";
import type { LlamaFacts, LlamaInput, LlamaMethods } from "./llama-methods.ts";
import { createPromptTokenizer } from "./llama-prompt.ts";
import type { ChatMessage } from "./messages.ts";

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
  return { name: model.fileInfo.metadata.general.name ?? basename(input.model), loadMs: performance.now() - started };
}

serveCalls<LlamaMethods>(
  {
    load,
    generate: async (wanted, { signal, emit }) => {
      if (loaded === null) throw new Error("generate was called before load");
      const { model, free } = loaded;
      const prompt = loaded.promptTokens(wanted.messages);
      const sequence = takeNearest(free, prompt);
      try {
        const onText = wanted.stream ? emit : () => undefined;
        return await generate({ model, sequence, limit: input.contextTokens }, prompt, wanted, signal, onText);
      } finally {
        free.push(sequence);
      }
    },
    crash: () => {
      process.kill(process.pid, "SIGKILL");
    },
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
