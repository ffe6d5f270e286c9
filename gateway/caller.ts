// Who asks, and what is read of an HTTP request to find out.
import type { KeyLimits } from "./keys/limits.ts";

export interface Caller {
  tenant: string;
  /** Arms and domains that it may use; null: any. */
  arms: readonly string[] | null;
  domains: readonly string[] | null;
  /** Limits of its key; absent: none. */
  limits?: KeyLimits;
  /** Id of its key; absent: there are no keys. */
  keyId?: string;
  /** To whose spending its requests count; absent: no account. */
  account?: string;
  /** It may give a person's feedback on this request, and do nothing else. */
  feedbackOn?: string;
}

/** What is read of an HTTP request. */
export interface Incoming {
  method?: string;
  raw?: { httpVersion: string };
  headers: Readonly<Record<string, string | string[] | undefined>>;
  socket: { remoteAddress?: string | undefined };
}
