// What the worker of the llama arm does; imported by both sides.
import type { ChatMessage } from "./messages.ts";

/** workerData of the worker. */
export interface LlamaInput {
  /** Path of a GGUF file. */
  model: string;
  contextTokens: number;
  threads: number;
  /** Requests decoded together, each in a sequence of its own. */
  sequences: number;
}

export interface LlamaFacts {
  /** As the file names itself. */
  name: string;
  loadMs: number;
  /** Of the worker's process. */
  pid: number;
}

export interface Generate {
  messages: ChatMessage[];
  /** At least 1. */
  maxTokens: number;
  /** 0 is greedy. */
  temperature: number;
  topP: number;
  seed: number;
  stop: string[];
  /** Whether each text is sent as an event. */
  stream: boolean;
}

/** What the worker sends while it generates: the answer in parts, where they are wanted, and now and then that it moves on. */
export type LlamaEvent = { kind: "text"; text: string } | { kind: "progress" };

export type Generated =
  | {
      kind: "done";
      text: string;
      finishReason: "stop" | "length";
      /** Tokens of the prompt, those of them not found in the sequence, and those generated. */
      prompt: number;
      prefilled: number;
      completion: number;
      /** From the call to its first token; null when there was none. */
      firstTokenMs: number | null;
    }
  | { kind: "tooLarge"; prompt: number; limit: number }
  | { kind: "cancelled" };

export interface LlamaMethods {
  load(argument: null): Promise<LlamaFacts>;
  /** Never more at a time than there are sequences. */
  generate(argument: Generate): Promise<Generated>;
}
