// One reading statement over ClickHouse's HTTP interface, in whatever output format a person asked
// for; the port (port.ts) is for programs, which want rows. The server is told to refuse everything
// that writes.
import { ClickHouseRejected, ClickHouseUnavailable } from "./port.ts";

export interface ConsoleTarget {
  url: string;
  username: string;
  password: string;
  database: string;
}

/**
 * The output as it comes. Rejects with ClickHouseRejected (the statement is wrong, or writes) or
 * ClickHouseUnavailable.
 */
export async function readOnlyQuery(
  { url, username, password, database }: ConsoleTarget,
  sql: string,
  format: string,
  signal?: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const address = new URL(url);
  address.searchParams.set("database", database);
  // 2: reads only, and settings may still be changed in the query.
  address.searchParams.set("readonly", "2");
  // An error in the middle of the output would otherwise come as part of it.
  address.searchParams.set("wait_end_of_query", "1");
  let response: Response;
  try {
    response = await fetch(address, {
      method: "POST",
      headers: { "x-clickhouse-user": username, "x-clickhouse-key": password, "x-clickhouse-format": format },
      body: sql,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (cause) {
    const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
    throw new ClickHouseUnavailable(`ClickHouse at ${url} can't be reached: ${reason}`, { cause });
  }
  if (!response.ok) {
    const text = (await response.text()).trim();
    const code =
      response.headers.get("x-clickhouse-exception-code") ?? /^Code: (\d+)/.exec(text)?.[1] ?? String(response.status);
    throw new ClickHouseRejected(text === "" ? `ClickHouse answered with status ${response.status}` : text, code);
  }
  return response.body ?? empty();
}

async function* empty(): AsyncGenerator<Uint8Array> {
  yield* [];
}
