// What every answer of the page carries: nothing from elsewhere is loaded, nothing inline runs, no
// other site frames it or reads it.
import type { FastifyReply } from "fastify";

const policy = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join("; ");

const headers: Readonly<Record<string, string>> = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

export function setHeaders(reply: FastifyReply, cacheControl = "no-store"): void {
  void reply.headers(headers).header("cache-control", cacheControl);
}
