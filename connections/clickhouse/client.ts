// The ClickHouse port over @clickhouse/client: server, cluster and embedded facade alike. Calls end
// in time, with ClickHouseUnavailable (try again) or ClickHouseRejected (never).
import https from "node:https";
import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { createClient } from "@clickhouse/client";
import { wellFormedJson } from "../../algorithms/text/well-formed.ts";
import type { TlsFiles } from "../../config/sections/security.ts";
import { secretOf, tlsOptions } from "../security/files.ts";
import { classify, isLostConnection } from "./errors.ts";
import { bindParameters } from "./parameters.ts";
import type { ClickHouse } from "./port.ts";

export interface ClickHouseClientConfig {
  url: string;
  username: string;
  password: string;
  /** Read when the client is made, as the files of `tls` are. */
  passwordFile?: string | undefined;
  tls?: TlsFiles | undefined;
  /** Database of unqualified names; absent: the user's default, as needed to create ours. */
  database?: string;
  requestTimeoutMs?: number;
  maxConnections?: number;
  /** The server refuses whatever writes, takes longer, or gives more rows. */
  readOnly?: { seconds: number; rows: number };
}

/** Shorter than the server's keep-alive, or a socket it has just closed would be used again. */
const idleSocketMs = 2_000;

export function createClickHouse(config: ClickHouseClientConfig): ClickHouse {
  const { readOnly, maxConnections = 8 } = config;
  const client = createClient({
    url: config.url,
    username: config.username,
    password: secretOf(config.password, config.passwordFile) ?? "",
    ...(config.database === undefined ? {} : { database: config.database }),
    request_timeout: config.requestTimeoutMs ?? 60_000,
    max_open_connections: maxConnections,
    keep_alive: { enabled: true, idle_socket_ttl: idleSocketMs },
    // The library's own agent only takes a CA, and leaves verification to the environment.
    ...(config.url.startsWith("https:")
      ? { http_agent: new https.Agent({ keepAlive: true, maxSockets: maxConnections, ...tlsOptions(config.tls) }) }
      : {}),
    clickhouse_settings: {
      // int64 as numbers: ours are offsets, counts and milliseconds, all below 2^53.
      output_format_json_quote_64bit_integers: 0,
      output_format_json_named_tuples_as_objects: 1,
      date_time_input_format: "best_effort",
      // A batch with more months than this would be refused as overload, and retried for ever.
      max_partitions_per_insert_block: "0",
      // Rows of a query are read into memory: the server refuses what would fill it.
      max_result_bytes: String(1024 ** 3),
      // An INSERT through a Distributed table returns when the shards have the rows.
      distributed_foreground_insert: 1,
      ...(readOnly === undefined
        ? {}
        : // 2: settings may still be given, as these are.
          { readonly: "2", max_execution_time: readOnly.seconds, max_result_rows: String(readOnly.rows) }),
    },
    log: { LoggerClass: SilentLogger },
  });

  async function attempt<T>(what: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (cause) {
      throw classify(cause, what);
    }
  }

  /** Closing cuts off what is in progress: that is no lost connection. */
  let closed = false;

  /** A read whose connection is lost is repeated once; callers repeat their own writes. */
  async function repeated<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (cause) {
      if (closed || !isLostConnection(cause)) throw cause;
      return await read();
    }
  }

  const insertLines: ClickHouse["insertLines"] = (table, { count, bytes }) =>
    attempt(`an INSERT of ${count} rows into ${table}`, async () => {
      // The library's own insert() only takes text as strings: every row would be copied twice.
      const values = Readable.from(bytes);
      try {
        const { stream } = await client.exec({ query: `INSERT INTO ${table} FORMAT JSONEachRow`, values });
        await finished(stream.resume());
      } finally {
        values.destroy();
      }
    });

  return {
    query: <Row>(sql: string, parameters?: Record<string, unknown>) =>
      attempt(`"${shortened(sql)}"`, () =>
        repeated(async () => {
          const result = await client.query({ format: "JSONEachRow", ...bindParameters(sql, parameters) });
          return await result.json<Row>();
        }),
      ),
    insert: async (table, rows) => {
      if (rows.length > 0)
        await insertLines(table, { count: rows.length, bytes: [Buffer.from(rows.map(wellFormedJson).join("\n"))] });
    },
    insertLines,
    command: (sql, parameters) =>
      attempt(`"${shortened(sql)}"`, async () => {
        await client.command(bindParameters(sql, parameters));
      }),
    close: async () => {
      closed = true;
      await client.close();
    },
  };
}

const shortened = (sql: string): string => {
  const line = sql.replace(/\s+/g, " ").trim();
  return line.length > 120 ? `${line.slice(0, 120)}...` : line;
};

/** The client's own lines would only repeat errors that reach the caller. */
class SilentLogger {
  trace(): void {}
  debug(): void {}
  info(): void {}
  warn(): void {}
  error(): void {}
}
