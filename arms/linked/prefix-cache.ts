// Beginnings of answered prompts: the next request of a conversation has all of it before its last
// turn (prefix caching). Only without examples, which change with every question.
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";

/** turnEnds: ascending positions, the first behind what stands before the conversation. */
export interface Conversation {
  tokens: Int32Array;
  turnEnds: readonly number[];
  /** What it begins with, by content. */
  chunks?: readonly { chunk: string }[];
}

/** The cache of the tokens [0, end) of a prompt. */
export interface Prefix {
  blob: Uint8Array;
  end: number;
}

export type PrefixCache = ReturnType<typeof createPrefixCache>;

/** Holds `maxBytes` at most; what was not used for the longest time goes first. */
export function createPrefixCache(maxBytes: number) {
  const held = new LRUCache<string, { blob: Uint8Array; chunks: readonly string[] }>({
    maxSize: maxBytes,
    sizeCalculation: ({ blob }) => blob.byteLength,
  });
  /** Keys of prompts in progress: looked up before the prefill, stored after it. */
  const known = new WeakMap<Conversation, { how: string; keys: string[] }>();
  function keysOf(prompt: Conversation, how: string): string[] {
    const before = known.get(prompt);
    if (before?.how === how) return before.keys;
    const keys = hashesOf(prompt, how);
    known.set(prompt, { how, keys });
    return keys;
  }

  return {
    /** The longest beginning that is kept; `how` separates what was computed differently. */
    longest(prompt: Conversation, how: string): Prefix | null {
      const keys = keysOf(prompt, how);
      for (let turn = keys.length - 1; turn >= 0; turn--) {
        const found = held.get(keys[turn]!);
        if (found !== undefined) return { blob: found.blob, end: prompt.turnEnds[turn]! };
      }
      return null;
    },
    keep(prompt: Conversation, how: string, { blob, end }: Prefix): void {
      const key = keysOf(prompt, how)[prompt.turnEnds.indexOf(end)];
      if (key !== undefined) held.set(key, { blob, chunks: prompt.chunks?.map(({ chunk }) => chunk) ?? [] });
    },
    /** Beginnings with one of these chunks go. */
    forget(chunks: ReadonlySet<string>): void {
      for (const [key, one] of held) if (one.chunks.some((chunk) => chunks.has(chunk))) held.delete(key);
    },
  };
}

/** A key for the tokens up to the end of each turn. */
function hashesOf({ tokens, turnEnds }: Conversation, how: string): string[] {
  const hash = createHash("sha256").update(JSON.stringify(how));
  let begin = 0;
  return turnEnds.map((end) => {
    hash.update(tokens.subarray(begin, end));
    begin = end;
    return hash.copy().digest("base64");
  });
}
