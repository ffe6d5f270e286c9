// Where a word stands: in tables (every column, all versions of a row), as the last value of a key
// of a compacted topic, and in files. Shows that what was erased is gone, and nothing else.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Session } from "../../pipelines/session.ts";

export type CompactedTopic = "response-cache" | "examples" | "documents";

/** Rows of a table with the word in any column; bytes in base64 are looked into. */
export async function rowsWith(
  { clickhouse, config }: Pick<Session, "clickhouse" | "config">,
  table: string,
  word: string,
): Promise<number> {
  const columns = await clickhouse.query<{ name: string }>(
    "SELECT name FROM system.columns WHERE database = {database:String} AND table = {table:String}",
    { database: config.clickhouse.database, table },
  );
  const texts = columns.map(({ name }) =>
    name.endsWith("_base64") && !name.startsWith("headers")
      ? `tryBase64Decode(ifNull(${name}, ''))`
      : `toString(tuple(${name}))`,
  );
  const [row] = await clickhouse.query<{ n: number }>(
    `SELECT count() AS n FROM ${table} WHERE position(concat(${texts.join(", ' ', ")}), {word:String}) > 0`,
    { word },
  );
  return row!.n;
}

/** By table, those that have such rows. */
export async function tablesWith(
  session: Pick<Session, "clickhouse" | "config">,
  word: string,
): Promise<Record<string, number>> {
  const tables = await session.clickhouse.query<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = {database:String} AND endsWith(engine, 'MergeTree')",
    { database: session.config.clickhouse.database },
  );
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const count = await rowsWith(session, name, word);
    if (count > 0) found[name] = count;
  }
  return found;
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
