import { describe, expect, it } from "vitest";
import { classify } from "./errors.ts";
import { appliedVersions, migrate, MigrationError, readMigrations } from "./migrate.ts";
import { ClickHouseRejected, ClickHouseUnavailable } from "./port.ts";
import { expiringTables, renderMigration } from "./render.ts";

const sql = `
-- a comment; with a semicolon
CREATE TABLE IF NOT EXISTS {table:requests} {on_cluster} (id String COMMENT 'a; b', at DateTime64(3))
ENGINE = {replacing:first_wins} ORDER BY id {ttl:at};

{distributed:requests:cityHash64(id)};

CREATE OR REPLACE VIEW {database}.v {on_cluster} AS SELECT 1 {colocated};
`;
const plain = { database: "precedent", ttlDays: 90 };
const cluster = { ...plain, cluster: "main" };
const flat = (statements: string[]): string[] => statements.map((statement) => statement.replace(/\s+/g, " "));

describe("renderMigration", () => {
  it("makes plain tables without a cluster", () => {
    expect(flat(renderMigration(sql, plain))).toEqual([
      "CREATE TABLE IF NOT EXISTS precedent.requests (id String COMMENT 'a; b', at DateTime64(3)) " +
        "ENGINE = ReplacingMergeTree(first_wins) ORDER BY id TTL toDateTime(at) + toIntervalDay(90)",
      "CREATE OR REPLACE VIEW precedent.v AS SELECT 1",
    ]);
  });

  it("makes replicated tables and a distributed one over them with a cluster", () => {
    expect(flat(renderMigration(sql, cluster))).toEqual([
      "CREATE TABLE IF NOT EXISTS precedent.requests_local ON CLUSTER 'main' (id String COMMENT 'a; b', at DateTime64(3)) " +
        "ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', first_wins) " +
        "ORDER BY id TTL toDateTime(at) + toIntervalDay(90)",
      "CREATE TABLE IF NOT EXISTS precedent.requests ON CLUSTER 'main' AS precedent.requests_local " +
        "ENGINE = Distributed('main', 'precedent', 'requests_local', cityHash64(id))",
      "CREATE OR REPLACE VIEW precedent.v ON CLUSTER 'main' AS SELECT 1 SETTINGS distributed_product_mode = 'local'",
    ]);
  });

  it("adds columns to a table, and on a cluster to the distributed one as well", () => {
    const added = "{columns:requests:\n  ADD COLUMN IF NOT EXISTS x Array(Float32) COMMENT 'a: b' AFTER id\n};\n";
    const action = "ADD COLUMN IF NOT EXISTS x Array(Float32) COMMENT 'a: b' AFTER id";
    const trimmed = (options: Parameters<typeof renderMigration>[1]) =>
      flat(renderMigration(added, options)).map((one) => one.trim());
    expect(trimmed(plain)).toEqual([`ALTER TABLE precedent.requests ${action}`]);
    expect(trimmed(cluster)).toEqual([
      `ALTER TABLE precedent.requests_local ON CLUSTER 'main' ${action}`,
      `ALTER TABLE precedent.requests ON CLUSTER 'main' ${action}`,
    ]);
  });

  it("sets no TTL with ttlDays 0", () => {
    expect(renderMigration(sql, { ...plain, ttlDays: 0 }).join()).not.toContain("TTL");
  });

  it("refuses a placeholder that it does not know", () => {
    expect(() => renderMigration("SELECT {databse}", plain)).toThrow(/\{databse\}/);
  });

  it("knows which tables expire", () => {
    expect(expiringTables(sql)).toEqual([{ name: "requests", column: "at" }]);
  });
});

describe("the files of schemas/clickhouse", () => {
  it("render with and without a cluster; every sharded table has its distributed one, every row of an identity one shard", async () => {
    for (const migration of await readMigrations()) {
      const created = [...migration.sql.matchAll(/CREATE TABLE IF NOT EXISTS \{table:([a-z_]+)\}/g)].map(
        ([, name]) => name,
      );
      const distributed = [...migration.sql.matchAll(/\{distributed:([a-z_]+):/g)].map(([, name]) => name);
      expect(distributed).toEqual(created);
      const statements = renderMigration(migration.sql, cluster);
      expect(statements.every((statement) => statement.includes("ON CLUSTER 'main'"))).toBe(true);
      expect(renderMigration(migration.sql, plain).join("\n")).not.toMatch(/ON CLUSTER|Replicated|_local/);
      for (const [, table, key] of migration.sql.matchAll(/\{distributed:([a-z_]+):cityHash64\(([^)]*)\)\}/g)) {
        const order = new RegExp(`\\{table:${table}\\}[\\s\\S]*?ORDER BY \\(([^)]*)\\)`).exec(migration.sql)?.[1];
        for (const column of key?.split(", ") ?? []) expect(order?.split(", ")).toContain(column);
      }
    }
  });
});

describe("migrate", () => {
  const file = { version: 1, name: "records", sql, checksum: "c1" };

  it("applies in order, records each file after its last statement, and never changes an applied one", async () => {
    const commands: string[] = [];
    const book: { version: number; name: string; checksum: string }[] = [];
    const clickhouse = {
      command: async (statement: string, parameters?: Record<string, unknown>) => {
        commands.push(statement.trim().split(/\s+/).slice(0, 6).join(" "));
        if (statement.startsWith("INSERT"))
          book.push({ version: Number(parameters?.["version"]), name: "records", checksum: "c1" });
      },
      query: async <Row>(statement: string) => (statement.includes("system.tables") ? [] : book) as Row[],
    };
    expect(await migrate(clickhouse, plain, [file])).toEqual(["0001_records"]);
    expect(commands).toEqual([
      "CREATE DATABASE IF NOT EXISTS precedent",
      "CREATE TABLE IF NOT EXISTS precedent.migrations",
      "CREATE TABLE IF NOT EXISTS precedent.requests",
      "CREATE OR REPLACE VIEW precedent.v AS",
      "INSERT INTO precedent.migrations (version, name, checksum,",
    ]);
    expect(await migrate(clickhouse, plain, [file])).toEqual([]);
    const reader = {
      query: async <Row>(statement: string) =>
        (statement.includes("system.tables") ? [{ name: "migrations", engine: "" }] : book) as Row[],
      command: () => Promise.reject(new Error("Not enough privileges")),
    };
    expect(await migrate(reader, plain, [file])).toEqual([]);
    await expect(migrate(clickhouse, plain, [{ ...file, checksum: "c2" }])).rejects.toThrow(MigrationError);
    const known = await appliedVersions(clickhouse, "precedent", [file]);
    expect([...known]).toEqual([1]);
    await expect(appliedVersions(clickhouse, "precedent", [{ ...file, checksum: "c2" }])).rejects.toThrow(
      /0001_records was applied to precedent with another text.*another clickhouse\.database/,
    );
  });
});

describe("classify", () => {
  const error = (code: string): Error => Object.assign(new Error("text"), { code });

  it.each(["ECONNREFUSED", "ECONNRESET", "202", "241", "252", "425"])("%s may pass", (code) =>
    expect(classify(error(code), "a query")).toBeInstanceOf(ClickHouseUnavailable),
  );
  it.each(["27", "60", "62", "164", "516"])("%s never will", (code) =>
    expect(classify(error(code), "a query")).toMatchObject({ name: new ClickHouseRejected("", "").name, code }),
  );
  it("a timeout of the client and a proxy's page may pass", () => {
    expect(classify(new Error("Timeout error."), "a query")).toBeInstanceOf(ClickHouseUnavailable);
    expect(classify(new Error("<html>502 Bad Gateway</html>"), "a query")).toBeInstanceOf(ClickHouseUnavailable);
  });
});
