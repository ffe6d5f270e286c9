// Tokens of the embedded ClickHouse: a random write token, and a read token derived from it.
import { createHmac } from "node:crypto";

export interface Tokens {
  /** Password of user `default`: reads and writes. */
  write: string;
  /** Password of user `reader`: reads. */
  read: string;
}

export function tokensOf(write: string): Tokens {
  return { write, read: createHmac("sha256", write).update("precedent: read").digest("base64url") };
}
