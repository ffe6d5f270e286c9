// Where a word stands: in tables (every column, all versions of a row), as the last value of a key
// of a compacted topic, and in files. Shows that what was erased is gone, and nothing else.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Session } from "../../pipelines/session.ts";

export type CompactedTopic = "response-cache" | "examples" | "documents";

type Tables = Pick<Session, "clickhouse" | "config">;

/** Rows of a table with the word in any column; bytes in base64 are looked into. */
export async function rowsWith(session: Tables, table: string, word: string): Promise<number> {
  const [row] = await countedWith(session, word, "table = {table:String}", { table });
  return row!.n;
}

/** By table, those that have such rows. */
export async function tablesWith(session: Tables, word: string): Promise<Record<string, number>> {
  const rows = await countedWith(
    session,
    word,
    `table IN (SELECT name FROM system.tables
               WHERE database = {database:String} AND endsWith(engine, 'MergeTree'))`,
  );
  return Object.fromEntries(rows.flatMap(({ table, n }) => (n > 0 ? [[table, n]] : [])));
}

/** One statement for all tables: there are thirty, and tests ask it again and again. */
async function countedWith(
  { clickhouse, config }: Tables,
  word: string,
  which: string,
  parameters: Record<string, string> = {},
): Promise<{ table: string; n: number }[]> {
  const columns = await clickhouse.query<{ table: string; name: string }>(
    `SELECT table, name FROM system.columns WHERE database = {database:String} AND ${which}`,
    { database: config.clickhouse.database, ...parameters },
  );
  const texts = new Map<string, string[]>();
  for (const { table, name } of columns) {
    const text =
      name.endsWith("_base64") && !name.startsWith("headers")
        ? `tryBase64Decode(ifNull(${name}, ''))`
        : `toString(tuple(${name}))`;
    texts.set(table, [...(texts.get(table) ?? []), text]);
  }
  const selects = [...texts].map(
    ([table, all]) =>
      `SELECT '${table}' AS table, count() AS n FROM \`${table}\`
       WHERE position(concat(${all.join(", ' ', ")}), {word:String}) > 0`,
  );
  return clickhouse.query(selects.join(" UNION ALL "), { word });
}

/** Last values by key and partition of a compacted topic, read whole, that hold the word. */
export async function liveWith(
  { kafka, topic }: Pick<Session, "kafka" | "topic">,
  name: CompactedTopic,
  word: string,
): Promise<number> {
  const last = new Map<string, Buffer | null>();
  const reader = kafka.readTopic(topic(name), (records, partition) => {
    for (const { key, value } of records) last.set(`${partition}/${key?.toString()}`, value);
  });
  await reader.caughtUp;
  await reader.stop();
  return [...last.values()].filter((value) => value?.includes(word) === true).length;
}

/** Files of a folder and those below that hold the word; the pages of a database are files too. */
export async function filesWithWord(folder: string, word: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const file = join(entry.parentPath, entry.name);
    if ((await readFile(file)).includes(word)) found.push(file);
  }
  return found;
}
