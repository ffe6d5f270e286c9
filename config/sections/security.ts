// TLS and credentials of the servers, as every section of a server has them. Whatever is named
// "...File" is read when it is used: who rotates a secret replaces the file.
import { z } from "zod";
import { httpUrl } from "./common.ts";

/** What a server shows is always checked: there is no key that switches this off. */
export const tls = z.strictObject({
  /** PEM file of the server's authorities; absent: those of Node.js. */
  ca: z.string().optional(),
  /** PEM file of our certificate. */
  cert: z.string().optional(),
  /** PEM file of its key. */
  key: z.string().optional(),
  /** Passphrase of the key. */
  passphrase: z.string().optional(),
});

/** Tokens by client credentials (RFC 6749, 4.4), renewed before they expire. */
export const oauth = z.strictObject({
  /** Token endpoint; https, or http on the loopback. */
  endpoint: httpUrl,
  clientId: z.string().min(1),
  clientSecret: z.string().min(1).optional(),
  /** File that holds the client secret. */
  clientSecretFile: z.string().optional(),
  scope: z.string().optional(),
  /** PEM file of the endpoint's authorities. */
  ca: z.string().optional(),
});

export type TlsFiles = z.infer<typeof tls>;
export type OAuth = z.infer<typeof oauth>;
