// One HTTP call with TLS from configured files: Node's fetch takes no authorities.
import http from "node:http";
import https from "node:https";
import type { TlsFiles } from "../../config/sections/security.ts";
import { tlsOptions } from "./files.ts";

export interface HttpCall {
  method?: "GET" | "POST" | "PUT";
  headers?: Readonly<Record<string, string>>;
  body?: string;
  tls?: TlsFiles | undefined;
  /** Milliseconds without a byte. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Keeps connections; absent: each call has its own. */
  agent?: http.Agent;
}

/** Resolves when the head of the answer is there; rejects when the server can't be reached. */
export function httpCall(
  url: string | URL,
  { method = "GET", headers = {}, body, tls, timeoutMs = 60_000, signal, agent }: HttpCall,
): Promise<http.IncomingMessage> {
  const { protocol } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = { method, headers, timeout: timeoutMs, agent: agent ?? false, ...(signal && { signal }) };
    const request =
      protocol === "https:"
        ? https.request(url, { ...options, ...tlsOptions(tls) }, resolve)
        : http.request(url, options, resolve);
    request.on("timeout", () => request.destroy(new Error(`no answer within ${timeoutMs / 1_000} s`)));
    request.on("error", reject);
    request.end(body);
  });
}
