// A context of the addon: prompts checked and flattened, promises around its callbacks.
import { calling, llamaError, type NativeContext, type NativeJob } from "./native.ts";
import { type LlamaContext, LlamaError, type Prompt, type Range, type RunResult } from "./port.ts";

// process.exit destroys the globals of llama.cpp while a batch may be under way on a context's own
// thread: it is waited for first.
const open = new Set<WeakRef<NativeContext>>();
process.once("exit", () => {
  for (const context of open) context.deref()?.stop();
});

export function createLlamaContext(native: NativeContext): LlamaContext {
  const { cells, scattered, unlinkable, ...format } = calling(() => native.format());
  const own = new WeakRef(native);
  open.add(own);
  let closing: Promise<void> | null = null;

  return {
    format,
    cells,
    scattered,
    unlinkable,
    run: (prompt, { signal, onText, onProgress } = {}) =>
      new Promise<RunResult>((resolve, reject) => {
        if (closing !== null) return reject(new LlamaError("closed", "the context was closed"));
        if (signal?.aborted === true) return reject(new LlamaError("cancelled", "the request was cancelled"));
        const job = calling(() =>
          native.run(
            nativeJob(prompt, onProgress !== undefined),
            (kind, value) => {
              if (kind === "text") onText?.(String(value));
              else onProgress?.(Number(value));
            },
            (failure, result) => {
              signal?.removeEventListener("abort", cancel);
              if (result === undefined) reject(llamaError(failure));
              else resolve(result);
            },
          ),
        );
        const cancel = (): void => native.cancel(job);
        signal?.addEventListener("abort", cancel, { once: true });
      }),
    close: () => (closing ??= native.close().finally(() => open.delete(own))),
  };
}

function nativeJob(prompt: Prompt, progress: boolean): NativeJob {
  const { tokens, links = [], recompute = [], exports = [], logitsAt = [], stop = [] } = prompt;
  const { maxTokens = 0, temperature = 0, topP = 1, seed = 0 } = prompt;
  for (const [name, value] of Object.entries({ maxTokens, seed }))
    if (!Number.isInteger(value) || value < 0 || value > 0xffffffff)
      throw new LlamaError("invalid_argument", `${name} must be a whole number from 0 to 4294967295, not ${value}`);
  return {
    tokens,
    links: links.map(({ blob, position }) => ({ blob, position })),
    recompute: flattened(recompute),
    exports: flattened(exports),
    logitsAt: Int32Array.from(logitsAt),
    maxTokens: Math.min(maxTokens, 0x7fffffff),
    temperature,
    topP,
    seed,
    stops: [...stop],
    progress,
  };
}

const flattened = (ranges: readonly Range[]): Int32Array =>
  Int32Array.from(ranges.flatMap(({ begin, end }) => [begin, end]));
