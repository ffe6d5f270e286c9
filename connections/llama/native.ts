// The addon's own face (native/llama/addon), typed. Only this folder sees it.
import { createRequire } from "node:module";
import { errorOf } from "../errors.ts";
import { chosenAddonFile } from "./library.ts";
import {
  type ChunkFacts,
  type ChunkFormat,
  type Device,
  LlamaError,
  type ModelFacts,
  type RopeFacts,
  type RunResult,
} from "./port.ts";

export interface NativeModel {
  facts(): Omit<ModelFacts, "fingerprint" | "rope">;
  rope(contextTokens: number): RopeFacts;
  tokenize(text: string, control: boolean): Int32Array;
  /** Bytes: they may end in the middle of a character. */
  detokenize(tokens: Int32Array, control: boolean): Buffer;
  isEnd(token: number): boolean;
  flashAttention(kvType: string): boolean;
  close(): void;
}

export interface NativeContext {
  format(): ChunkFormat & { cells: number; scattered: boolean; unlinkable: string | null };
  run(
    job: NativeJob,
    onEvent: (kind: "text" | "progress", value: string | number) => void,
    onDone: (failure: Error | null, result: RunResult | undefined) => void,
  ): number;
  cancel(job: number): void;
  close(): Promise<void>;
  /** Closes it in place, waiting for the batch under way: for the end of the process. */
  stop(): void;
}

export interface NativeContextOptions {
  contextTokens: number;
  sequences: number;
  threads: number;
  flashAttention: boolean;
  kvType: string;
  batchTokens: number;
  partTokens: number;
  mostWaiting: number;
  pieceBytes: number;
  contexts: number;
}

export interface NativeJob {
  tokens: Int32Array;
  links: { blob: Uint8Array; position: number }[];
  recompute: Int32Array;
  exports: Int32Array;
  logitsAt: Int32Array;
  maxTokens: number;
  temperature: number;
  topP: number;
  seed: number;
  stops: string[];
  progress: boolean;
}

export interface Native {
  devices(backends: string, libraries: string[]): Device[];
  describeBlob(blob: Uint8Array): ChunkFacts;
  loadModel(options: {
    path: string;
    fingerprint: Uint8Array;
    device: string;
    /** -1: all. */
    gpuLayers: number;
    backends: string;
    libraries: string[];
  }): Promise<NativeModel>;
  createContext(model: NativeModel, options: NativeContextOptions): Promise<NativeContext>;
}

let loaded: Native | null = null;

/** Throws LlamaError addon_missing. */
export function native(): Native {
  if (loaded !== null) return loaded;
  try {
    loaded = createRequire(import.meta.url)(chosenAddonFile()) as Native;
    return loaded;
  } catch (error) {
    throw new LlamaError("addon_missing", `the llama addon is not built or does not load: run "npm run setup"`, {
      cause: error,
    });
  }
}

/** Errors of the addon carry their code; anything else is a bug. */
export function llamaError(error: unknown): Error {
  if (error instanceof Error && "code" in error && typeof error.code === "string")
    // The codes are those of native/llama/core/failure.hpp.
    return new LlamaError(error.code as LlamaError["code"], error.message, { cause: error });
  return errorOf(error);
}

export function calling<Result>(call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    throw llamaError(error);
  }
}
