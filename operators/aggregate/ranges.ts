// What is new in the tables that learn reads: offsets behind its position, some at a time.
import { positionName } from "../../algorithms/identity/origin.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { selectRanges, type Table } from "./statements.ts";

export interface Range {
  /** Cluster and topic that the offsets belong to. */
  origin: string;
  partition: number;
  next: number;
  end: number;
}

/** What is new in each table. */
export type Ranges = Record<Table, Range[]>;

export interface RangesOptions {
  clickhouse: Pick<ClickHouse, "query">;
  /** Rows of a table without a topic are looked at only with their decision or feedback. */
  topics: Partial<Record<Table, string>>;
  /** Whose positions they are. */
  reader: string;
  /** Rows of one partition. */
  maxRows: number;
}

/** Ranges of each table of one origin at a time; more: another origin has new rows, too. */
export function createRanges({ clickhouse, topics, reader, maxRows }: RangesOptions) {
  const named = tables.filter((table) => topics[table] !== undefined);
  const parameters = { ...Object.fromEntries(named.map((table) => [`${table}Topic`, topics[table]])), reader };
  return async (): Promise<{ found: Ranges; more: boolean }> => {
    const rows = await clickhouse.query<Range & { table: Table }>(selectRanges(named), parameters);
    const of = (name: Table): Range[] => {
      const own = rows.filter(({ table }) => table === name);
      return own
        .filter(({ origin }) => origin === own[0]?.origin)
        .map(({ origin, partition, next, end }) => ({ origin, partition, next, end: Math.min(end, next + maxRows) }));
    };
    const found = Object.fromEntries(tables.map((table) => [table, of(table)])) as Ranges;
    const taken = Object.values(found).reduce((sum, { length }) => sum + length, 0);
    return { found, more: taken < rows.length };
  };
}

const tables = ["feedback", "decisions", "responses", "withdrawals"] as const;

/** Parameters for inRange (statements.ts); other partitions have the range [0, 0). */
export const boundsOf = (found: Ranges, topics: RangesOptions["topics"]): Record<string, unknown> =>
  Object.assign({}, ...tables.map((table) => bounds(table, topics[table] ?? "", found[table]))) as Record<
    string,
    unknown
  >;

const bounds = (table: Table, topic: string, ranges: readonly Range[]): Record<string, unknown> => ({
  [`${table}Topic`]: topic,
  [`${table}Origin`]: ranges[0]?.origin ?? "",
  [`${table}From`]: new Map(ranges.map(({ partition, next }) => [partition, next])),
  [`${table}To`]: new Map(ranges.map(({ partition, end }) => [partition, end])),
});

/** Rows of learn_positions behind those ranges. */
export const positionsOf = (found: Ranges, topics: RangesOptions["topics"], reader: string) =>
  tables.flatMap((table) =>
    found[table].map(({ origin, partition, end }) => ({
      reader,
      topic: positionName(topics[table] ?? "", origin),
      kafka_partition: partition,
      next_offset: end,
    })),
  );
