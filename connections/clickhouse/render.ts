// Migrations are SQL with a few placeholders, so that the same file serves one server and a
// cluster. Without a cluster a table is a ReplacingMergeTree; with one, {table:x} becomes x_local,
// replicated on every shard, and {distributed:x:key} puts the Distributed table x over it, sharded
// by a key that all rows of one identity share (FINAL merges within a shard only).
//   {database}                    the configured database
//   {on_cluster}                  ON CLUSTER, or nothing
//   {table:name}                  database.name, or database.name_local on a cluster
//   {replacing:column}            ReplacingMergeTree(column), or its replicated form
//   {aggregating}                 AggregatingMergeTree, or its replicated form
//   {distributed:name:key}        a statement of its own: the Distributed table, or nothing
//   {columns:name:ADD COLUMN ...} a statement of its own: ALTER TABLE with these actions, on a
//                                 cluster of the Distributed table as well
//   {ttl:column}                  TTL by clickhouse.ttlDays, or nothing where that is 0
//   {colocated}                   at the end of a view that joins tables sharded by the same key
// Names in the configuration are checked there; what a file writes is ours.
import { sqlLiteral } from "../../algorithms/text/sql-literal.ts";

export interface RenderOptions {
  database: string;
  /** Name of a cluster as the servers know it; they must define the macros shard and replica. */
  cluster?: string | undefined;
  /** 0: rows have no TTL. */
  ttlDays: number;
}

export const localTable = (name: string, { database, cluster }: RenderOptions): string =>
  `${database}.${name}${cluster === undefined ? "" : "_local"}`;

export const onCluster = ({ cluster }: RenderOptions): string =>
  cluster === undefined ? "" : `ON CLUSTER ${sqlLiteral(cluster)}`;

/** An engine of MergeTree's family; on a cluster replicated, once a shard. */
function engine(name: string, argument: string, { cluster }: RenderOptions): string {
  if (cluster === undefined) return `${name}(${argument})`;
  // {shard}, {replica}, {database} and {table} are macros of the server.
  const place = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'";
  return `Replicated${name}(${argument === "" ? place : `${place}, ${argument}`})`;
}

export const ttlExpression = (column: string, ttlDays: number): string =>
  `toDateTime(${column}) + toIntervalDay(${ttlDays})`;

/** Statements with placeholders replaced. Throws on an unknown placeholder. */
export function renderMigration(sql: string, options: RenderOptions): string[] {
  return statements(sql)
    .flatMap((statement) => alterations(statement, options))
    .map((statement) => render(statement, options).trim())
    .filter((statement) => statement !== "");
}

/** Statements end with a semicolon at the end of a line; whole-line comments are left out. */
export function statements(sql: string): string[] {
  return sql
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("--"))
    .join("\n")
    .split(/;[ \t]*(?:\n|$)/);
}

/** Expands {columns:name:actions}; any other statement is unchanged. */
function alterations(statement: string, options: RenderOptions): string[] {
  const [, name, actions] = /^\s*\{columns:([a-z_]+):([^{}]+)\}\s*$/.exec(statement) ?? [];
  if (name === undefined || actions === undefined) return [statement];
  const tables = options.cluster === undefined ? [name] : [`${name}_local`, name];
  return tables.map((table) => `ALTER TABLE ${options.database}.${table} ${onCluster(options)} ${actions}`);
}

function render(statement: string, options: RenderOptions): string {
  return statement.replace(
    /\{([a-z_]+)(?::([^{}:]+))?(?::([^{}]+))?\}/g,
    (placeholder: string, kind: string, first: string = "", second: string = "") => {
      switch (kind) {
        case "database":
          return options.database;
        case "on_cluster":
          return onCluster(options);
        case "table":
          return localTable(first, options);
        case "replacing":
          return engine("ReplacingMergeTree", first, options);
        case "aggregating":
          return engine("AggregatingMergeTree", "", options);
        case "ttl":
          return options.ttlDays === 0 ? "" : `TTL ${ttlExpression(first, options.ttlDays)}`;
        case "colocated":
          return options.cluster === undefined ? "" : "SETTINGS distributed_product_mode = 'local'";
        case "distributed":
          return distributed(first, second, options);
        default:
          throw new Error(`A migration has the placeholder ${placeholder}, which does not exist: see render.ts.`);
      }
    },
  );
}

function distributed(name: string, key: string, options: RenderOptions): string {
  if (options.cluster === undefined) return "";
  return (
    `CREATE TABLE IF NOT EXISTS ${options.database}.${name} ${onCluster(options)} AS ${localTable(name, options)} ` +
    `ENGINE = Distributed(${sqlLiteral(options.cluster)}, ${sqlLiteral(options.database)}, ${sqlLiteral(`${name}_local`)}, ${key})`
  );
}

/** Tables that expire by clickhouse.ttlDays, with the column of their age. */
export function expiringTables(sql: string): { name: string; column: string }[] {
  return statements(sql).flatMap((statement) => {
    const name = /\{table:([^{}:]+)\}/.exec(statement)?.[1];
    const column = /\{ttl:([^{}:]+)\}/.exec(statement)?.[1];
    return name === undefined || column === undefined ? [] : [{ name, column }];
  });
}
