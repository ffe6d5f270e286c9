// The documents that requests name: put once, split once, read for every prompt that has them.
// Texts stand off the heap.

export interface HeldDocument {
  tenant: string;
  id: string;
  title: string | null;
  /** In order; each can be cached and linked on its own. */
  pieces: readonly string[];
  /** Cut at lengths, since splitting it took too long. */
  isRough?: boolean;
}

export interface Documents {
  /** undefined: this tenant has none of that id. */
  get(tenant: string, id: string): HeldDocument | undefined;
}

/** The table that `Documents` is read from; every process makes its own anew from the topic. */
export interface DocumentTable extends Documents {
  /** By the topic's key, in order; null: gone. */
  apply(changes: readonly { key: string; value: HeldDocument | null }[]): Promise<void>;
  size(): number;
  close(): Promise<void>;
}

/**
 * Key on the topic. Tenants' names are percent-encoded where they have a slash or a percent sign:
 * what one puts or removes must be no other's, and the newest of a key is all that is kept of it.
 */
export const documentKey = (tenant: string, id: string): string =>
  `${tenant.replace(/[%/]/g, encodeURIComponent)}/${id}`;
