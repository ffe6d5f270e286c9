// What an HTTP request asks of ClickHouse: who asks, which statement, with which settings and
// parameters. Pure but for the body, read elsewhere.
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Tokens } from "../tokens.ts";
import { authenticationFailed, badArguments, notImplemented } from "./errors.ts";

// Parameters of the URL that are no settings of the engine. session_id is accepted and means
// nothing: every request has a session of its own.
const ignored = new Set([
  ...["query_id", "session_id", "session_timeout", "session_check", "close_session", "role", "quota_key", "stacktrace"],
  ...["wait_end_of_query", "send_progress_in_http_headers", "http_response_buffer_size", "buffer_size"],
  ...["http_headers_progress_interval_ms", "http_send_progress_interval_ms", "add_http_cors_header"],
  ...["enable_http_compression", "http_zlib_compression_level", "http_response_compression_method"],
  ...["http_native_compression_disable_checksumming_on_decompress", "replace_running_query"],
  // Always so here.
  ...["cancel_http_readonly_queries_on_client_close"],
]);

export interface Asked {
  query: string;
  database: string | undefined;
  format: string;
  settings: Record<string, string>;
  parameters: Record<string, string>;
  /** The client asks to be held to reading. */
  readOnly: boolean;
  /** The client wants the response compressed with gzip. */
  gzip: boolean;
}

const header = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
};

export function parseRequest(url: URL, headers: IncomingHttpHeaders): Asked {
  const asked: Asked = {
    query: "",
    database: header(headers, "x-clickhouse-database"),
    format: header(headers, "x-clickhouse-format") ?? "TabSeparated",
    settings: {},
    parameters: {},
    readOnly: false,
    gzip: false,
  };
  for (const [name, value] of url.searchParams) {
    if (name === "query") asked.query = value;
    else if (name === "database") asked.database = value;
    else if (name === "default_format") asked.format = value;
    else if (name.startsWith("param_")) asked.parameters[name.slice("param_".length)] = value;
    else if (name === "readonly") asked.readOnly = value !== "0";
    else if (name === "compress" || name === "decompress") {
      if (value !== "0") throw notImplemented(`"${name}" (native compression) is not served here; use gzip.`);
    } else if (name === "user" || name === "password" || ignored.has(name)) continue;
    else asked.settings[name] = value;
  }
  if (!/^[A-Za-z0-9]+$/.test(asked.format)) throw badArguments(`"${asked.format}" is no name of a format.`);
  const compress = url.searchParams.get("enable_http_compression");
  asked.gzip = (compress === "1" || compress === "true") && /\bgzip\b/.test(header(headers, "accept-encoding") ?? "");
  return asked;
}

export type Caller = "writer" | "reader";

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
/** Takes the same time wherever the two differ, and whatever their lengths are. */
const equal = (left: string, right: string): boolean => timingSafeEqual(digest(left), digest(right));

/** Write token: writer, user `default`; read token: reader. AUTHENTICATION_FAILED. */
export function authenticate(url: URL, headers: IncomingHttpHeaders, tokens: Tokens): Caller {
  const { user, password } = credentials(url, headers);
  const [isWrite, isRead] = [equal(password, tokens.write), equal(password, tokens.read)];
  if ((user !== "default" && user !== "reader") || (!isWrite && !isRead))
    throw authenticationFailed(
      'The user must be "default" or "reader", with a token of the stack as the password: ' +
        '"precedent stack token" prints it, and the file curlrc in the stack\'s folder holds it for curl -K.',
    );
  return isWrite && user === "default" ? "writer" : "reader";
}

function credentials(url: URL, headers: IncomingHttpHeaders): { user: string; password: string } {
  const [scheme, value = ""] = (header(headers, "authorization") ?? "").split(/\s+/, 2);
  const basic = scheme?.toLowerCase() === "basic" ? Buffer.from(value, "base64").toString("utf8") : "";
  const colon = basic.indexOf(":");
  const bearer = scheme?.toLowerCase() === "bearer" ? value : undefined;
  return {
    user:
      (url.searchParams.get("user") ?? header(headers, "x-clickhouse-user") ?? basic.slice(0, Math.max(colon, 0))) ||
      "default",
    password:
      url.searchParams.get("password") ??
      header(headers, "x-clickhouse-key") ??
      bearer ??
      (colon < 0 ? "" : basic.slice(colon + 1)),
  };
}
