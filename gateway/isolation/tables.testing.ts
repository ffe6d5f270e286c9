// ClickHouse in memory, for the statements that look requests up by name. It reads of a statement
// what it asks of whom: a condition that is left out of one lets rows through here, too; one that
// it does not know is an error. Beside it the documents of the topic.
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { documentKey, type DocumentTable, type HeldDocument } from "../../connections/documents/port.ts";

/** A row by the columns of its table, and as statements give it. */
export interface Row {
  columns: Readonly<Record<string, unknown>>;
  gives: object;
}

type Parameters = Readonly<Record<string, unknown>>;
type Holds = (columns: Row["columns"], parameters: Parameters) => boolean;

const equal = /^(\w+) = \{(\w+):\w+\}$/;
const among = /^(\w+) IN \{(\w+):Array\(\w+\)\}$/;
const constant = /^(\w+) = '(\w+)'$/;
const negated = /^NOT (\w+)$/;
/** Bounds of time: everything here is of now. */
const bound = /^created_at >= /;

function conditionOf(text: string): Holds {
  const [, column = "", value = ""] = equal.exec(text) ?? among.exec(text) ?? constant.exec(text) ?? [];
  if (equal.test(text)) return (columns, parameters) => columns[column] === parameters[value];
  if (among.test(text)) return (columns, parameters) => (parameters[value] as unknown[]).includes(columns[column]);
  if (constant.test(text)) return (columns) => columns[column] === value;
  const [, flag] = negated.exec(text) ?? [];
  if (flag !== undefined) return (columns) => columns[flag] !== true;
  if (bound.test(text)) return () => true;
  throw new Error(`a condition that is not known here: ${text}`);
}

function read(sql: string): { table: string; conditions: Holds[] } {
  const [unordered = ""] = sql.replace(/\s+/g, " ").trim().split(" ORDER BY ");
  const [before = "", where] = unordered.split(" FINAL WHERE ");
  const table = /FROM (\w+)$/.exec(before)?.[1];
  if (table === undefined || where === undefined) throw new Error(`a statement that is not known here: ${sql}`);
  return { table, conditions: where.split(" AND ").map(conditionOf) };
}

export interface Tables extends Pick<ClickHouse, "query"> {
  insert(table: string, columns: Row["columns"], gives: object): void;
  all(): readonly Row[];
}

const statements = new Map<string, ReturnType<typeof read>>();

export function createTables(): Tables {
  const tables = new Map<string, Row[]>();
  return {
    insert(table, columns, gives) {
      const rows = tables.get(table) ?? [];
      tables.set(table, rows);
      rows.push({ columns, gives });
    },
    all: () => [...tables.values()].flat(),
    query<T>(sql: string, parameters: Parameters = {}) {
      const { table, conditions } = statements.get(sql) ?? read(sql);
      statements.set(sql, { table, conditions });
      const rows = (tables.get(table) ?? []).filter(({ columns }) =>
        conditions.every((holds) => holds(columns, parameters)),
      );
      return Promise.resolve(rows.map(({ gives }) => ({ ...gives }) as T));
    },
  };
}

/** As a compacted topic holds them: the newest of each key. */
export function createDocuments(): Pick<DocumentTable, "get" | "apply"> {
  const held = new Map<string, HeldDocument>();
  return {
    get(tenant, id) {
      const found = held.get(documentKey(tenant, id));
      return found?.tenant === tenant && found.id === id ? found : undefined;
    },
    apply(changes) {
      for (const { key, value } of changes) {
        if (value === null) held.delete(key);
        else held.set(key, value);
      }
      return Promise.resolve();
    },
  };
}
