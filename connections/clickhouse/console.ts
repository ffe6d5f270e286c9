// Runs one statement over HTTP, in a chosen format. The server refuses those that write.
import type { IncomingMessage } from "node:http";
import { messageOf } from "../errors.ts";
import { secretOf } from "../security/files.ts";
import { textOf } from "../http/bodies.ts";
import { httpCall } from "../security/http.ts";
import type { ClickHouseClientConfig } from "./client.ts";
import { ClickHouseRejected, ClickHouseUnavailable } from "./port.ts";

const timeoutMs = 3_600_000;

export type ConsoleTarget = Pick<ClickHouseClientConfig, "url" | "username" | "password" | "passwordFile" | "tls"> & {
  database: string;
};

export interface ConsoleOutput {
  /** The format that it is in: the statement may name another one. */
  format: string | undefined;
  /** As it comes. */
  bytes: AsyncIterable<Uint8Array>;
}

/** Rejects with ClickHouseRejected or ClickHouseUnavailable. */
export async function readOnlyQuery(
  { url, username, password, passwordFile, tls, database }: ConsoleTarget,
  sql: string,
  format: string,
  signal?: AbortSignal,
  settings: Readonly<Record<string, string>> = {},
): Promise<ConsoleOutput> {
  const address = new URL(url);
  address.searchParams.set("database", database);
  // 2: reads only, and settings may still be changed in the query.
  address.searchParams.set("readonly", "2");
  // An error in the middle of the output would otherwise come as part of it.
  address.searchParams.set("wait_end_of_query", "1");
  for (const [name, value] of Object.entries(settings)) address.searchParams.set(name, value);
  const key = secretOf(password, passwordFile) ?? "";
  let response: IncomingMessage;
  try {
    response = await httpCall(address, {
      method: "POST",
      headers: { "x-clickhouse-user": username, "x-clickhouse-key": key, "x-clickhouse-format": format },
      body: sql,
      ...{ tls, signal, timeoutMs: timeoutMs },
    });
  } catch (cause) {
    throw new ClickHouseUnavailable(`ClickHouse at ${url} can't be reached: ${messageOf(cause)}`, { cause });
  }
  if (response.statusCode !== 200) {
    const text = (await textOf(response)).trim();
    const reported = response.headers["x-clickhouse-exception-code"];
    const code = reported?.toString() ?? /^Code: (\d+)/.exec(text)?.[1] ?? String(response.statusCode);
    throw new ClickHouseRejected(text === "" ? `ClickHouse answered with status ${response.statusCode}` : text, code);
  }
  return { format: response.headers["x-clickhouse-format"]?.toString(), bytes: response };
}
