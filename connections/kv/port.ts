// The store of chunk caches (docs/design/linked-prefill.md, The store): K and V of a chunk's tokens
// as an opaque blob, computed once behind some prefix and linked into any prompt. A chunk may have
// several variants, made behind different prefixes; all of them share the byte budgets of the
// tiers.

/**
 * What a chunk was prefilled behind: nothing; the system prompt; the system prompt and up to two
 * chunks nearest to it (its first context); whatever stood before it in the prompt that it was
 * first seen in. "linked" is the last, where a part of that was linked itself, so that the numbers
 * are not quite those of its prefix.
 */
export const conventions = ["alone", "system", "context", "seen", "linked"] as const;
export type Convention = (typeof conventions)[number];

/** A chunk of the prefix, by its content. */
export interface PrefixChunk {
  chunk: string;
  tokens: number;
}

/** One variant of a chunk. */
export interface KvEntry {
  /** Hash of format, convention, prefix and tokens: 64 hexadecimal digits. */
  key: string;
  /** Hash of format, sharing domain and tokens. */
  chunk: string;
  convention: Convention;
  /** Tokens of the chunk itself. */
  tokens: number;
  prefix: readonly PrefixChunk[];
  /** Bytes of the blob. */
  bytes: number;
  /** Milliseconds since the epoch. */
  createdAt: number;
}

export interface KvListed extends KvEntry {
  /** f_r now: what it was used for, decayed. */
  value: number;
  memory: boolean;
  disk: boolean;
  pinned: boolean;
  /** Milliseconds since the epoch; null: never. */
  expiresAt: number | null;
  /** Explicit ids that name it. */
  ids: readonly string[];
}

export interface KvStats {
  entries: number;
  memoryBytes: number;
  diskBytes: number;
  pinnedBytes: number;
  /** Since the store was opened. */
  memoryHits: number;
  diskHits: number;
  misses: number;
  /** Loaded before they were asked for. */
  prefetched: number;
  evicted: number;
  expired: number;
  /** Files that were damaged, cut off or another model's; they are removed. */
  refused: number;
  /** Blobs held in memory only, because the disk was too slow, full or failing. */
  notWritten: number;
}

/**
 * Codes: budget (it can't fit, or what is pinned leaves no room), unknown (no such key or id),
 * closed, invalid (an id or key that can be none).
 */
export class KvError extends Error {
  override name = "KvError";
  constructor(
    readonly code: "budget" | "unknown" | "closed" | "invalid",
    message: string,
  ) {
    super(message);
  }
}

/** Caches by their key: what linking a prompt needs. */
export interface KvCaches {
  /** Variants of a chunk that can be loaded, oldest first. No I/O. */
  variants(chunk: string): KvListed[];
  /**
   * The blob, verified; null when there is none, it has expired, or its file was no good (then it
   * is gone). Never changed by anyone.
   */
  get(key: string): Promise<Uint8Array | null>;
  /**
   * Stores a blob. It can be read immediately and is on disk some time later; an existing key is
   * not changed.
   */
  put(entry: Omit<KvEntry, "bytes" | "createdAt">, blob: Uint8Array): Promise<void>;
  /** Counts a use whose repair cost `cfo`, [0, 1]. */
  used(key: string, cfo: number): void;
  /**
   * For a waiting request: loads blobs that are only on the slow tier and pins all of them in
   * memory until the returned function is called. All waiting requests together take at most half
   * of memory, and evict nothing that has no other copy. null, and nothing is pinned: no memory is
   * free now, or it was aborted. Blobs that fail to load are left to get.
   */
  prefetch(keys: readonly string[], signal?: AbortSignal): Promise<(() => void) | null>;
}

/** What an operator of the store does with one cache (`precedent kv`). */
export interface KvNames {
  /**
   * Names an entry; the id then goes where a key does in the four below. An id names one entry:
   * naming again moves it.
   */
  create(id: string, key: string): Promise<void>;
  /**
   * The key that an id names, or the key itself where there is such an entry; undefined: neither.
   */
  find(idOrKey: string): string | undefined;
  /**
   * Never evicted. Rejects with budget when what is pinned would leave less than half of a tier's
   * budget.
   */
  pin(idOrKey: string, pinned: boolean): Promise<void>;
  /** Gone at that time; null: when it is evicted. */
  expire(idOrKey: string, at: number | null): Promise<void>;
  remove(idOrKey: string): Promise<void>;
}

export interface KvStore extends KvCaches, KvNames {
  list(): KvListed[];
  stats(): KvStats;
  /**
   * Removes all variants of these chunks, and whatever was made behind one of them, whose numbers
   * tell of it; how many. Pins don't hold.
   */
  forget(chunks: ReadonlySet<string>): Promise<number>;
  /** Resolves when all that is waiting to be written is on disk, or was given up. */
  flush(): Promise<void>;
  /**
   * Takes in what others did to the folder (precedent kv pin, rm), removes what has expired, keeps
   * the budgets.
   */
  refresh(): Promise<void>;
  close(): Promise<void>;
}
