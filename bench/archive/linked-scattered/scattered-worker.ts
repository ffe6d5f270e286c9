// One of the two processes of --only scattered: a context of the default addon, or of the one that
// computes all runs of a prompt in one batch.
import { fingerprintOf, openLlamaModel } from "../../../connections/llama/model.ts";
import type { LlamaContext, Prompt } from "../../../connections/llama/port.ts";
import { serveCalls, workerInput } from "../../../connections/worker/rpc.ts";

export interface ScatteredInput {
  path: string;
  contextTokens: number;
  scattered: boolean;
}

export interface Ran {
  /**
   * Milliseconds to the first token: CPU of the owner thread, which is all with one thread; on the
   * clock.
   */
  cpuMs: number;
  wallMs: number;
  /** Runs of computed tokens. */
  runs: number;
  computed: number;
}

export interface ScatteredMethods {
  /** Whether the context computes all runs in one batch. */
  open(argument: null): Promise<boolean>;
  run(prompt: Prompt): Promise<Ran>;
}

const { path, contextTokens, scattered } = workerInput<ScatteredInput>();
// Before the addon is loaded, which is when a model is opened.
process.env["PRECEDENT_LLAMA_SCATTERED"] = scattered ? "1" : "";
let context: LlamaContext | undefined;

serveCalls<ScatteredMethods>(
  {
    async open() {
      const model = await openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
      context = await model.openContext({ contextTokens, sequences: 1 });
      return context.scattered;
    },
    async run(prompt) {
      if (context === undefined) throw new Error("run was called before open");
      const { timings, runs, recomputed, prefilled } = await context.run({ ...prompt, maxTokens: 1 });
      const { cpuFirstMs, firstMs } = timings;
      return { cpuMs: cpuFirstMs, wallMs: firstMs, runs, computed: recomputed + prefilled };
    },
  },
  () => context?.close(),
);
