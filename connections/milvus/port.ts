// One Milvus collection of rows: a vector, a text, and what searches filter by. Names that tenants
// choose never come here: keys and groups are digests, so that no expression can be escaped.

export interface MilvusRow {
  /** 32 hexadecimal digits, like `group`: the primary key and the partition key. */
  key: string;
  group: string;
  /** Searches see rows of one generation. An integer below 2^53, like the next two. */
  generation: number;
  /** Milliseconds since the epoch; Number.MAX_SAFE_INTEGER: never. */
  expiresAt: number;
  /** Changes with text and vector. */
  stamp: number;
  /** At most mostTextBytes of UTF-8. */
  text: string;
  /** Unit length. */
  vector: Float32Array;
}

export interface MilvusQuery {
  group: string;
  generation: number;
  /** Rows that expire until then are left out; milliseconds since the epoch. */
  now: number;
  vector: Float32Array;
  /** 0 to 16,384. */
  k: number;
}

export interface Bounded {
  /** Milliseconds until it rejects, whatever the server does. */
  timeoutMs: number;
  /** Sees every write that was acknowledged before; slower on a cluster. */
  strong?: boolean;
}

export interface MilvusFacts {
  /** Version of the server. */
  version: string;
  /** null: there is no such collection. */
  collection: { dimension: number; rows: number } | null;
}

/** All calls reject with MilvusError within their time. */
export interface MilvusReads {
  facts(): Promise<MilvusFacts>;
  /** The nearest by cosine, nearest first, without texts. */
  search(query: MilvusQuery, bounded: Bounded): Promise<{ key: string; stamp: number }[]>;
  /** Those that exist, in any order. */
  read(keys: readonly string[], bounded: Bounded): Promise<MilvusRow[]>;
}

/** Writes are idempotent by key. */
export interface MilvusCollection extends MilvusReads {
  /** With its index, ready for searches; one that exists stays. */
  create(dimension: number): Promise<void>;
  drop(): Promise<void>;
  /** A key at most once. */
  upsert(rows: readonly MilvusRow[]): Promise<void>;
  /** Unknown keys are ignored. */
  remove(keys: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** unavailable: away, too slow, or not loaded. refused: the server doesn't take the call. */
export class MilvusError extends Error {
  constructor(
    readonly code: "unavailable" | "refused",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "MilvusError";
  }
}

/** The longest VARCHAR of Milvus. */
export const mostTextBytes = 65_535;
