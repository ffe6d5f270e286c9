// What the worker of the llama arm does; imported by both sides.
import type { FlashAttention, KvType } from "../../connections/llama/port.ts";
import type { Convention } from "../../connections/kv/port.ts";
import type { Piece } from "../../schemas/types.ts";
import type { ArmInventory, Cached, Caching } from "../arm.ts";
import type { Built } from "../linked/build.ts";
import type { Comparison, Sample } from "../linked/idle.ts";

export interface LlamaInput {
  model: string;
  /** Jinja; null: the file's own. */
  chatTemplate: string | null;
  /** The arm's own prompt; null: it has none. */
  system: string | null;
  contextTokens: number;
  threads: number;
  sequences: number;
  kvType: KvType;
  device: string;
  /** null: all. */
  gpuLayers: number | null;
  flashAttention: FlashAttention;
  linked: {
    convention: Convention;
    /** Folder of the slow tier; null: memory only. */
    folder: string | null;
    /** SHA-256 of the model file, hex, once it is known. */
    fingerprint: string | null;
    /** null: by the model's size. */
    memoryBytes: number | null;
    diskBytes: number;
    keepInFull: boolean;
  };
}

export interface LlamaFacts {
  name: string;
  loadMs: number;
  pid: number;
  fingerprint: string;
  /** That it runs on: "CPU (AMD EPYC)". */
  devices: readonly string[];
  flashAttention: boolean;
  /** Why nothing is linked; null: it is. */
  unlinkable: string | null;
  /** Whether caches are scored, which the policy craft goes by. */
  scored: boolean;
}

export interface Generate {
  pieces: readonly Piece[];
  /** At least 1. */
  maxTokens: number;
  /** 0 is greedy. */
  temperature: number;
  topP: number;
  seed: number;
  stop: string[];
  /** Whether each text is sent as an event. */
  stream: boolean;
  policy: string;
  caching: Caching;
  /** Prefills that are compared with a full one later; null: none. */
  compare: Comparison | null;
}

/** Sent while generating: parts of the answer where wanted, and signs of progress. */
export type LlamaEvent = { kind: "text"; text: string } | { kind: "progress" };

export type Generated =
  | {
      kind: "done";
      text: string;
      finishReason: "stop" | "length";
      /** The stop string that ended the text; undefined: the model did. */
      stop: string | undefined;
      /** Policy that applied to the prompt's chunks, by kind where it has both. */
      linkPolicy: string;
      /** Prompt tokens in all, linked, recomputed, uncached; and generated ones. */
      prompt: number;
      linked: number;
      recomputed: number;
      prefilled: number;
      completion: number;
      firstTokenMs: number | null;
    }
  | { kind: "tooLarge"; prompt: number; limit: number }
  /** The chat template refuses the conversation. */
  | { kind: "refused"; message: string }
  | { kind: "cancelled" };

export interface LlamaMethods {
  load(argument: null): Promise<LlamaFacts>;
  /** Never more at a time than there are sequences. */
  generate(argument: Generate): Promise<Generated>;
  /** One piece of idle work; more: further work is queued. Abort to postpone. */
  idle(argument: null): Promise<{ more: boolean; samples: Sample[] }>;
  /** Makes missing caches of a prompt's chunks for about a second. Abort to postpone. */
  build(argument: { pieces: readonly Piece[]; domain: string }): Promise<Built>;
  /** Loads what a waiting request will link into memory until it is aborted. */
  prefetch(argument: { pieces: readonly Piece[]; policy: string; domain: string }): Promise<void>;
  inventory(argument: null): Promise<ArmInventory | null>;
  cached(argument: null): Cached;
  /** Removes the caches of these, and those made behind one of them; how many. */
  forget(cached: Cached): Promise<number>;
}
