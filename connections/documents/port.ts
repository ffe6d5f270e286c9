// The documents that requests name: split once, read for every prompt. Texts are off the heap.

export interface HeldDocument {
  tenant: string;
  id: string;
  title: string | null;
  /** In order; each can be cached and linked on its own. */
  pieces: readonly string[];
  /** From then on there is none; absent: it stays. */
  expiresAt?: number | null;
  /** Cut at lengths, since splitting it took too long. */
  isRough?: boolean;
}

export interface Documents {
  /** undefined: this tenant has none of that id, or it is expired. */
  get(tenant: string, id: string): HeldDocument | undefined;
}

/** The table behind `Documents`; every process rebuilds its own from the topic. */
export interface DocumentTable extends Documents {
  /** By the topic's key, in order; null: gone. */
  apply(changes: readonly { key: string; value: HeldDocument | null }[]): Promise<void>;
  close(): Promise<void>;
}

/** Key on the topic; tenants are percent-encoded, so that keys never collide. */
export const documentKey = (tenant: string, id: string): string =>
  `${tenant.replace(/[%/]/g, encodeURIComponent)}/${id}`;
