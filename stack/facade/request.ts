// What an HTTP request asks of ClickHouse: who asks, which statement, with which settings and parameters. Pure but for the body, read elsewhere.
import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { authenticationFailed, badArguments, notImplemented } from "./errors.ts";

// Parameters of the URL that are no settings of the engine. session_id is accepted and means nothing: every request has a session of its own.
const ignored = new Set([
  ...["query_id", "session_id", "session_timeout", "session_check", "close_session", "role", "quota_key", "stacktrace"],
  ...["wait_end_of_query", "send_progress_in_http_headers", "http_response_buffer_size", "buffer_size"],
  ...["http_headers_progress_interval_ms", "http_send_progress_interval_ms", "add_http_cors_header"],
  ...["enable_http_compression", "http_zlib_compression_level", "http_response_compression_method"],
  ...["http_native_compression_disable_checksumming_on_decompress", "replace_running_query"],
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

/** The token makes a writer of user `default`; without a password `default` and `reader` may read. Throws AUTHENTICATION_FAILED. */
export function authenticate(url: URL, headers: IncomingHttpHeaders, token: string): Caller {
  let user = url.searchParams.get("user") ?? header(headers, "x-clickhouse-user");
  let password = url.searchParams.get("password") ?? header(headers, "x-clickhouse-key");
  const basic = /^Basic (.+)$/i.exec(header(headers, "authorization") ?? "")?.[1];
  if (basic !== undefined && user === undefined) {
    const [name, ...rest] = Buffer.from(basic, "base64").toString("utf8").split(":");
    user = name;
    password = rest.join(":");
  }
  user ||= "default";
  if (user !== "default" && user !== "reader")
    throw authenticationFailed(`${user}: there is no such user; "default" writes with the token, "reader" reads.`);
  if (!password) return "reader";
  const given = Buffer.from(password);
  const expected = Buffer.from(token);
  if (user === "default" && given.length === expected.length && timingSafeEqual(given, expected)) return "writer";
  throw authenticationFailed(`${user}: Authentication failed: password is incorrect.`);
}

/** Only names of this machine, so that no web page can reach the facade through a name of its own (DNS rebinding). */
export const isLocalHost = (host: string | undefined): boolean =>
  host === undefined || /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host);
