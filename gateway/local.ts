// Who is served without a key: a client on the gateway's own machine. A proxy speaks for others,
// and a page of another site, which a browser on this machine shows, is no client of ours.
import { isLocalHost, isLoopback } from "../connections/security/local-host.ts";
import type { Caller, Incoming } from "./caller.ts";
import { ApiError } from "./errors.ts";

const defaultTenant = "default";
/** What proxies add. One that adds nothing is no other than a client. */
const proxyHeaders = [
  ...["forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"],
  ...["x-forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-server"],
];

/** Throws ApiError. */
export function localCaller(incoming: Incoming): Caller {
  const { headers, socket, method = "GET", raw } = incoming;
  const isLocal =
    isLoopback(socket.remoteAddress) &&
    // A page in a browser reaches the loopback, too, by a name of its own.
    isLocalHost(headers["host"]) &&
    // nginx by default; other clients of HTTP/1.0 have no need to say so.
    !(raw?.httpVersion === "1.0" && headers["connection"] === "close") &&
    proxyHeaders.every((name) => headers[name] === undefined);
  if (!isLocal)
    throw new ApiError({
      ...{ status: 401, code: "no_api_keys" },
      message:
        "Without API keys only clients on the gateway's own machine are served, under the name localhost and without a proxy: precedent keys create makes a key.",
    });
  fromThisSite(incoming);
  // Older browsers send no Sec-Fetch-Site, but a page of another site needs a preflight for this
  // type or for a key. Uploads are forms, whose clients send a key; without API keys any one will
  // do.
  if (method !== "GET" && method !== "HEAD" && !isJson(headers["content-type"]) && !hasBearer(headers["authorization"]))
    throw new ApiError({
      ...{ status: 415, code: "content_type_needed" },
      message:
        "Without API keys a request that changes something needs the header Content-Type: application/json, or Authorization: Bearer with any key.",
    });
  return { tenant: defaultTenant, arms: null, domains: null };
}

/** Throws ApiError where a browser says that another site asks. */
export function fromThisSite({ headers }: Incoming): void {
  const site = headers["sec-fetch-site"];
  const { origin } = headers;
  if ((site === undefined || site === "same-origin" || site === "none") && (origin === undefined || isOwn(headers)))
    return;
  throw new ApiError({ status: 403, code: "cross_site", message: "A page of another site may ask nothing here." });
}

/** Whether a browser says that a page of the gateway asks. */
export function isOwn({ origin, host }: Incoming["headers"]): boolean {
  if (typeof origin !== "string" || typeof host !== "string") return false;
  // TLS may end in front of the gateway.
  return origin === `http://${host}` || origin === `https://${host}`;
}

const hasBearer = (authorization: string | string[] | undefined): boolean =>
  typeof authorization === "string" && /^Bearer \S/i.test(authorization);
const isJson = (type: string | string[] | undefined): boolean =>
  typeof type === "string" && /^application\/json\s*(?:;|$)/i.test(type);
