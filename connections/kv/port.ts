// The store of chunk caches (docs/design/linked-prefill.md, The store): opaque blobs, several
// variants a chunk by prefix, all under the tiers' byte budgets.

/**
 * What a chunk was prefilled behind: nothing; the system prompt; that and up to two nearest chunks
 * (context); all that stood before it (seen); the last with linked parts (linked).
 */
export const conventions = ["alone", "system", "context", "seen", "linked"] as const;
export type Convention = (typeof conventions)[number];

/** A chunk of the prefix, by its content. */
export interface PrefixChunk {
  chunk: string;
  tokens: number;
}

/** What a scoring pass found of a chunk behind its prefix (algorithms/linked-prefill). */
export interface Impact {
  /** Cache Context Impact, [0.5, 1]. */
  cci: number;
  /** Attention on each chunk of the prefix, mean over layers, >= 0. */
  inter: readonly number[];
  /** The chunk's tokens by their attention on the prefix, highest first; each once. */
  ranking: readonly number[];
}

export interface KvEntry {
  /** Hash of format, convention, prefix and tokens: 64 hexadecimal digits. */
  key: string;
  /** Hash of format, sharing domain and tokens. */
  chunk: string;
  convention: Convention;
  tokens: number;
  prefix: readonly PrefixChunk[];
  /** Absent: not scored. */
  impact?: Impact;
  bytes: number;
  createdAt: number;
}

export interface KvListed extends KvEntry {
  /** f_r now: what it was used for, decayed. */
  value: number;
  memory: boolean;
  disk: boolean;
  pinned: boolean;
  expiresAt: number | null;
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

/** budget: no room; unknown: no such key or id; closed; invalid: an impossible key or id. */
export class KvError extends Error {
  override name = "KvError";
  constructor(
    readonly code: "budget" | "unknown" | "closed" | "invalid",
    message: string,
  ) {
    super(message);
  }
}

export interface KvCaches {
  /** Variants of a chunk that can be loaded, oldest first. No I/O. */
  variants(chunk: string): KvListed[];
  /** The verified blob, never changed; null: none, expired, or its file was damaged. */
  get(key: string): Promise<Uint8Array | null>;
  /** Readable at once, on disk later; an existing key is only changed to have a first score. */
  put(entry: Omit<KvEntry, "bytes" | "createdAt">, blob: Uint8Array): Promise<void>;
  /** Counts a use whose repair cost `cfo`, [0, 1]. */
  used(key: string, cfo: number): void;
  /**
   * Loads blobs from the slow tier and pins them until the returned function is called; half of
   * memory at most over all. null: no memory, or aborted. Failed blobs are left to get.
   */
  prefetch(keys: readonly string[], signal?: AbortSignal): Promise<(() => void) | null>;
}

/** What an operator of the store does with one cache (`precedent kv`). */
export interface KvNames {
  /** Names an entry; the id then stands for its key. Naming again moves the id. */
  create(id: string, key: string): Promise<void>;
  /** The key of an id, or the key itself where there is an entry. */
  find(idOrKey: string): string | undefined;
  /** Never evicted. Rejects with budget when pins would leave less than half of a tier. */
  pin(idOrKey: string, pinned: boolean): Promise<void>;
  /** Gone at that time; null: when it is evicted. */
  expire(idOrKey: string, at: number | null): Promise<void>;
  remove(idOrKey: string): Promise<void>;
}

export interface KvStore extends KvCaches, KvNames {
  list(): KvListed[];
  stats(): KvStats;
  /** Removes all variants of these chunks and all made behind them, pinned or not; how many. */
  forget(chunks: ReadonlySet<string>): Promise<number>;
  /** Resolves when all that is waiting to be written is on disk, or was given up. */
  flush(): Promise<void>;
  /** Takes in changes by others, removes what has expired, keeps the budgets. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}
