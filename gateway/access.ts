// Who asks. Without API keys only clients on this machine are served, as the tenant "default".
import { ApiError } from "./errors.ts";

export interface Caller {
  tenant: string;
  /** Arms and domains that it may use; null: any. */
  arms: readonly string[] | null;
  domains: readonly string[] | null;
}

/** What is read of an HTTP request. */
export interface Incoming {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  socket: { remoteAddress?: string | undefined };
}

const defaultTenant = "default";

/** Throws ApiError. */
export function localCaller({ headers, socket }: Incoming): Caller {
  // A page in a browser reaches the loopback, too, by a name of its own; a proxy says for whom.
  const isLocal =
    isLoopback(socket.remoteAddress) && isLocalHost(headers["host"]) && headers["x-forwarded-for"] === undefined;
  if (isLocal) return { tenant: defaultTenant, arms: null, domains: null };
  throw new ApiError({
    ...{ status: 401, code: "no_api_keys" },
    message: "Without API keys only clients on the gateway's own machine are served, under the name localhost.",
  });
}

const isLoopback = (address = ""): boolean => /^(?:::ffff:)?127\.|^::1$/.test(address);

function isLocalHost(host: string | string[] | undefined): boolean {
  const name = (typeof host === "string" ? host : "").replace(/:\d{1,5}$/, "").toLowerCase();
  return name === "localhost" || name === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(name);
}
