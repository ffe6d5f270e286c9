// The two tokens of the embedded ClickHouse. The write token is random and stands in stack.json;
// the read token is derived from it, so that it is the same over restarts and needs no place of its
// own. From the read token nobody gets to the write token.
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
