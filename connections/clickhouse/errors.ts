// Which errors of ClickHouse pass by themselves (wait and try again) and which never will (the
// statement or its rows are wrong).
import { messageOf } from "../errors.ts";
import { ClickHouseRejected, ClickHouseUnavailable } from "./port.ts";

/** Codes of a server that is overloaded, starting or cut off: try again. */
const passing: Readonly<Record<string, string>> = {
  "3": "UNEXPECTED_END_OF_FILE",
  "159": "TIMEOUT_EXCEEDED",
  "160": "TOO_SLOW",
  "173": "CANNOT_ALLOCATE_MEMORY",
  "202": "TOO_MANY_SIMULTANEOUS_QUERIES",
  "203": "NO_FREE_CONNECTION",
  "209": "SOCKET_TIMEOUT",
  "210": "NETWORK_ERROR",
  "225": "NO_ZOOKEEPER",
  "236": "ABORTED",
  "241": "MEMORY_LIMIT_EXCEEDED",
  "242": "TABLE_IS_READ_ONLY",
  "243": "NOT_ENOUGH_SPACE",
  "252": "TOO_MANY_PARTS",
  "285": "TOO_FEW_LIVE_REPLICAS",
  "319": "UNKNOWN_STATUS_OF_INSERT",
  "394": "QUERY_WAS_CANCELLED",
  "425": "SYSTEM_ERROR",
  "439": "CANNOT_SCHEDULE_TASK",
  "999": "KEEPER_EXCEPTION",
};

/** Codes of a connection that was refused or lost. */
const lost = ["ECONNRESET", "ECONNREFUSED", "EPIPE", "EHOSTUNREACH"];

const longestMessage = 2_000;

/** Whether the server is gone rather than slow: behind a load balancer another one may be there. */
export const isLostConnection = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && lost.includes(String(cause.code));

/** An error of @clickhouse/client as one of the port's; `what` was being done. */
export function classify(cause: unknown, what: string): ClickHouseUnavailable | ClickHouseRejected {
  // The server quotes the statement, with all of its literals.
  const message = messageOf(cause).slice(0, longestMessage);
  // The client's own errors, Node's system errors and aborted requests all carry a string code;
  // ClickHouse's are digits.
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (/^\d+$/.test(code) && !(code in passing))
    return new ClickHouseRejected(`ClickHouse refused ${what}: ${message} (code ${code})`, code);
  // Without a code of ClickHouse: refused or reset connections, timeouts, a proxy's 502. All of
  // them may pass.
  return new ClickHouseUnavailable(`ClickHouse could not do ${what}: ${message}${code ? ` (${code})` : ""}`, { cause });
}
