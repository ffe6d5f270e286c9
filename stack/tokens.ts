// The two tokens of the embedded ClickHouse. The write token is random and is stored in stack.json.
// The read token is derived from it, so it survives restarts without being stored. The write token
// can't be derived from the read token.
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
