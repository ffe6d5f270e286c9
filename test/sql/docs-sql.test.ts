// Every SQL statement that the documents show runs on a real ClickHouse that holds one record of
// every topic. Needs no Kafka.
import { readFile, readdir } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { recordedTopics } from "../../operators/decode/rows.ts";
import { testingRecords } from "../../operators/decode/records.testing.ts";
import { type MigratedDatabase, startDatabase } from "../support/clickhouse.ts";
import { startRecordOn } from "../support/record.ts";

const docs = new URL("../../docs/", import.meta.url);
let database: MigratedDatabase;
let clickhouse: ClickHouse;

beforeAll(async () => {
  database = await startDatabase("docs_test");
  clickhouse = database.clickhouse;
  const { stage, feed } = await startRecordOn(clickhouse);
  for (const topic of recordedTopics) await feed(topic, 0, 0, [testingRecords[topic]]);
  await stage.stop();
});
afterAll(() => database.remove());

/**
 * Blocks marked as SQL, what `precedent sql` is given, and statements inside of sentences and
 * tables.
 */
function statementsOf(text: string): string[] {
  const blocks = [...text.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, block = ""]) =>
    block.replace(/--.*$/gm, "").split(/;\s*$/m),
  );
  const given = [...text.matchAll(/precedent sql "(SELECT [^"]+)"/g)].map(([, sql = ""]) => sql);
  const inline = [...text.matchAll(/`(SELECT [^`]+)`/g)].map(([, sql = ""]) => sql);
  return [...blocks.flat(), ...given, ...inline].map((sql) => sql.trim()).filter((sql) => sql !== "");
}

it("runs every statement of the documents", async () => {
  const names = (await readdir(docs)).filter((name) => name.endsWith(".md"));
  const files = [new URL("../../README.md", import.meta.url), ...names.map((name) => new URL(name, docs))];
  const statements = (await Promise.all(files.map((file) => readFile(file, "utf8")))).flatMap(statementsOf);
  expect(statements.length).toBeGreaterThan(20);
  const failed: string[] = [];
  for (const sql of statements)
    await clickhouse.query(sql).catch((error: unknown) => failed.push(`${sql}\n${String(error)}`));
  expect(failed).toEqual([]);
});

it("clickhouse.md names every table and view", async () => {
  const text = await readFile(new URL("clickhouse.md", docs), "utf8");
  const rows = await clickhouse.query<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name",
  );
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.map(({ name }) => name).filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
