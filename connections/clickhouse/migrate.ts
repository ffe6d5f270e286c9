// Brings a database to the state of schemas/clickhouse: numbered files, each applied once in order,
// with its checksum. Safe concurrently and when killed: statements can be repeated.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClickHouse } from "./port.ts";
import { expiringTables, localTable, onCluster, renderMigration, ttlExpression, type RenderOptions } from "./render.ts";

export interface Migration {
  version: number;
  name: string;
  sql: string;
  checksum: string;
}

export class MigrationError extends Error {
  override name = "MigrationError";
}

const folder = fileURLToPath(new URL("../../schemas/clickhouse", import.meta.url));

/** Files in order. MigrationError when a number is missing or taken twice. */
export async function readMigrations(path: string = folder): Promise<Migration[]> {
  const names = (await readdir(path)).filter((name) => name.endsWith(".sql")).sort();
  return await Promise.all(
    names.map(async (file, index) => {
      const [, digits, name] = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file) ?? [];
      if (digits === undefined || name === undefined)
        throw new MigrationError(`${file} in schemas/clickhouse is not named like 0001_records.sql.`);
      if (Number(digits) !== index + 1)
        throw new MigrationError(`schemas/clickhouse counts from 0001 without gaps, but file ${index + 1} is ${file}.`);
      const sql = await readFile(join(path, file), "utf8");
      return { version: index + 1, name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}

/**
 * Applies missing migrations and returns their names; sets the tables' TTL. Newer versions in the
 * database are left alone. MigrationError when an applied file has changed.
 */
export async function migrate(
  clickhouse: Pick<ClickHouse, "command" | "query">,
  options: RenderOptions,
  migrations?: readonly Migration[],
): Promise<string[]> {
  const files = migrations ?? (await readMigrations());
  // A user without rights to create finds all made by another one.
  if (!(await hasBook(clickhouse, options))) await createBook(clickhouse, options);
  const done = await appliedVersions(clickhouse, options.database, files);
  const missing = files.filter(({ version }) => !done.has(version));
  for (const migration of missing) {
    for (const statement of renderMigration(migration.sql, options)) await clickhouse.command(statement);
    await clickhouse.command(
      `INSERT INTO ${options.database}.migrations (version, name, checksum, applied_at)
       VALUES ({version:UInt32}, {name:String}, {checksum:String}, now64(3))`,
      { version: migration.version, name: migration.name, checksum: migration.checksum },
    );
  }
  await applyTtl(clickhouse, options, files);
  return missing.map(fileName);
}

const fileName = ({ version, name }: Migration): string => `${String(version).padStart(4, "0")}_${name}`;

/** Migrations that a database has. MigrationError when an applied file has changed. */
export async function appliedVersions(
  clickhouse: Pick<ClickHouse, "query">,
  database: string,
  files: readonly Migration[],
): Promise<Set<number>> {
  const applied = await clickhouse.query<Pick<Migration, "version" | "checksum">>(
    `SELECT version, checksum FROM ${database}.migrations FINAL ORDER BY version`,
  );
  for (const { version, checksum } of applied) {
    const file = files.find((migration) => migration.version === version);
    if (file !== undefined && file.checksum !== checksum)
      throw new MigrationError(
        `Migration ${fileName(file)} was applied to ${database} with another text, by a version from which no ` +
          `upgrade leads to this one: return to that version, or name another clickhouse.database, without its ` +
          `rows. When developing: applied files never change, put the change into a new file.`,
      );
  }
  return new Set(applied.map(({ version }) => version));
}

async function hasBook(clickhouse: Pick<ClickHouse, "query">, { database }: RenderOptions): Promise<boolean> {
  const found = await clickhouse.query(
    "SELECT name FROM system.tables WHERE database = {database:String} AND name = 'migrations'",
    { database },
  );
  return found.length > 0;
}

/** On a cluster one book for all shards: its path names none. */
async function createBook(clickhouse: Pick<ClickHouse, "command">, options: RenderOptions): Promise<void> {
  const engine =
    options.cluster === undefined
      ? "ReplacingMergeTree(applied_at)"
      : "ReplicatedReplacingMergeTree('/clickhouse/tables/all/{database}/{table}', '{shard}-{replica}', applied_at)";
  await clickhouse.command(`CREATE DATABASE IF NOT EXISTS ${options.database} ${onCluster(options)}`);
  await clickhouse.command(
    `CREATE TABLE IF NOT EXISTS ${options.database}.migrations ${onCluster(options)}
     (
       version UInt32 COMMENT 'Number of the file',
       name String COMMENT 'Name of the file without number',
       checksum String COMMENT 'SHA-256 of the file, placeholders unfilled',
       applied_at DateTime64(3, 'UTC') COMMENT 'When it was applied, UTC'
     )
     ENGINE = ${engine} ORDER BY version
     COMMENT 'Files of schemas/clickhouse that were applied'`,
  );
}

/** ttlDays may change later; parts are rewritten as they merge. */
async function applyTtl(
  clickhouse: Pick<ClickHouse, "command" | "query">,
  options: RenderOptions,
  files: readonly Migration[],
): Promise<void> {
  const tables = files.flatMap(({ sql }) => expiringTables(sql));
  const engines = await clickhouse.query<{ name: string; engine: string }>(
    `SELECT concat(database, '.', name) AS name, engine_full AS engine FROM system.tables
     WHERE database = {database:String}`,
    { database: options.database },
  );
  for (const { name, column } of tables) {
    const table = localTable(name, options);
    const engine = engines.find((found) => found.name === table)?.engine;
    if (engine === undefined) continue;
    const expression = ttlExpression(column, options.ttlDays);
    const wanted = options.ttlDays > 0;
    if (wanted && !engine.includes(`TTL ${expression}`))
      await clickhouse.command(
        `ALTER TABLE ${table} ${onCluster(options)} MODIFY TTL ${expression} SETTINGS materialize_ttl_after_modify = 0`,
      );
    if (!wanted && engine.includes(" TTL "))
      await clickhouse.command(`ALTER TABLE ${table} ${onCluster(options)} REMOVE TTL`);
  }
}
