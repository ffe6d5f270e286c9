// Fills the database of the benchmark, once for all runs on the same tables and rows. An
// interrupted run resumes at its last statement. The rows of that statement may be there twice
// until they are merged, as after any repeated INSERT.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { migrate, readMigrations } from "../../connections/clickhouse/migrate.ts";
import type { ClickHouse } from "../../connections/clickhouse/port.ts";
import { writeAtomically } from "../../connections/process/lock.ts";
import type { BenchContext } from "../benchmark.ts";
import { others, statements } from "./rows.ts";

export interface Filled {
  /** Hash of what was written: tables, rows and their number. */
  sha256: string;
  /** The end of the month, milliseconds since the epoch. */
  until: number;
  statements: number;
  all: number;
}

const batch = 500_000;

/** What a former run left; undefined: nothing that fits. */
export async function readFilled(file: string, all: number): Promise<Filled | undefined> {
  const found = await readFile(file, "utf8").then(
    (text) => JSON.parse(text) as Filled,
    () => undefined,
  );
  return found?.sha256 === (await hashOf(all)) ? found : undefined;
}

async function hashOf(all: number): Promise<string> {
  const tables = (await readMigrations()).map(({ sql }) => sql);
  return createHash("sha256")
    .update(JSON.stringify([tables, others(0), statements(0, batch, 0, all), all]))
    .digest("hex");
}

/** Both clients may take long; the first one belongs to no database. */
export async function fill(
  { progress, signal }: Pick<BenchContext, "progress" | "signal">,
  { making, writing, database }: { making: ClickHouse; writing: ClickHouse; database: string },
  { file, all, known }: { file: string; all: number; known: Filled | undefined },
): Promise<Filled> {
  if (known === undefined) await making.command(`DROP DATABASE IF EXISTS ${database} SYNC`);
  await migrate(making, { database, ttlDays: 400 });
  const filled = known ?? { sha256: await hashOf(all), until: Date.now(), statements: 0, all };
  const batches = Array.from({ length: Math.ceil(all / batch) }, (_, i) => i * batch);
  const todo = [
    ...others(filled.until),
    ...batches.flatMap((from) => statements(from, Math.min(batch, all - from), filled.until, all)),
  ];
  const filling = progress("rows", todo.length, "statements");
  for (; filled.statements < todo.length; filled.statements++) {
    signal.throwIfAborted();
    await writing.command(todo[filled.statements] ?? "");
    await writeAtomically(file, JSON.stringify({ ...filled, statements: filled.statements + 1 }));
    filling.update(filled.statements + 1);
  }
  filling.finish();
  return filled;
}
