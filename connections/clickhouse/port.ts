// ClickHouse as the system needs it. One implementation (client.ts, @clickhouse/client over HTTP)
// for the server and the embedded facade alike.

export interface ClickHouse {
  /** Rows of a query that only reads; parameters as {name:Type}. Repeated once if cut off. */
  query<Row>(sql: string, parameters?: Record<string, unknown>): Promise<Row[]>;
  /** One INSERT: all rows, or it rejects and some may be there. A repeat is harmless. */
  insert(table: string, rows: readonly object[]): Promise<void>;
  /** The same of rows in text. No byte of them is read once it has resolved or rejected. */
  insertLines(table: string, rows: JsonLines): Promise<void>;
  command(sql: string, parameters?: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

export interface JsonLines {
  count: number;
  bytes: readonly Buffer[];
}

/** Down or overloaded: the same call may succeed later, unlike ClickHouseRejected. */
export class ClickHouseUnavailable extends Error {
  override name = "ClickHouseUnavailable";
}
export class ClickHouseRejected extends Error {
  override name = "ClickHouseRejected";
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}
