// bench -- archive/clickhouse-codecs: what the codecs of our columns save and cost beside one codec
// for all of them. Rows are those that the loop recorded; every variant of a table gets the same
// blocks, and is merged to one part afterwards. Needs ../shared/data.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { ClickHouse } from "../../../connections/clickhouse/port.ts";
import type { BenchContext, Benchmark, Measured } from "../../benchmark.ts";
import { loadHistory } from "../../loop/history.ts";
import { driveLoop } from "../../loop/stints.ts";
import { startRealLoop } from "../../loop/system.ts";
import { cpuSeconds } from "../../support/processes.ts";
import { onStack, serverPids } from "../../support/stack.ts";
import { median, significant } from "../../support/statistics.ts";

export const clickhouseCodecs: Benchmark = {
  name: "archive/clickhouse-codecs",
  about: "bytes and CPU of the codecs of ClickHouse's columns",
  run,
};

const tables = ["requests", "decisions", "responses", "example_uses"];
const codec = /\bCODEC\((?:[^()]|\([^()]*\))*\)/g;
/** From the statement that made a table to one that makes it otherwise. */
const variants: Readonly<Record<string, (columns: string) => string>> = {
  ours: (columns) => columns,
  LZ4: (columns) => columns.replace(codec, ""),
  "ZSTD(1)": (columns) => columns.replace(codec, "CODEC(ZSTD(1))"),
  "ZSTD(3)": (columns) => columns.replace(codec, "CODEC(ZSTD(3))"),
};

async function run(context: BenchContext): Promise<Measured> {
  const stack = join(context.folder, "..", "..", "stack");
  return onStack(context, stack, async () => {
    const { clickhouse: pid } = await serverPids(stack);
    const history = await loadHistory(context);
    const prefix = `codecs_${randomBytes(4).toString("hex")}`;
    const loop = await startRealLoop(context, { stackFolder: stack, prefix, history });
    const { clickhouse } = loop.session;
    try {
      const driver = await driveLoop(loop, context.signal);
      context.note("recording");
      const { values } = await driver.run({ inFlight: 64, seconds: 600, requests: context.quick ? 1_000 : 10_000 });
      await loop.recorded(values.length);
      await driver.close();
      const rows = [];
      for (const table of tables) rows.push(...(await compare(context, { clickhouse, pid: pid! }, table)));
      return { figures: { requests: values.length, rows } };
    } finally {
      await loop.stop();
    }
  });
}

async function compare(
  { quick, note }: BenchContext,
  { clickhouse, pid }: { clickhouse: ClickHouse; pid: number },
  table: string,
) {
  note(`inserting ${table}`);
  const [made] = await clickhouse.query<{ statement: string }>(`SHOW CREATE TABLE ${table}`);
  const statement = made!.statement;
  const [counted] = await clickhouse.query<{ rows: number | string }>(`SELECT count() AS rows FROM ${table}`);
  const count = Number(counted!.rows);
  const block = 500;
  const done = new Map<string, { insert: number[]; merge: number[]; bytes: number }>();
  // In turns: the machine is not equally fast all the time.
  for (let round = 0; round < (quick ? 2 : 5); round++)
    for (const [name, vary] of Object.entries(variants)) {
      const copy = `codecs_of_${table}`;
      await clickhouse.command(`DROP TABLE IF EXISTS ${copy} SYNC`);
      await clickhouse.command(vary(statement).replace(/^CREATE TABLE \S+/, `CREATE TABLE ${copy}`));
      const cpu = async (work: () => Promise<void>): Promise<number> => {
        const before = cpuSeconds(pid);
        await work();
        return (1e6 * (cpuSeconds(pid) - before)) / count;
      };
      const insert = await cpu(async () => {
        for (let at = 0; at < count; at += block)
          await clickhouse.command(
            `INSERT INTO ${copy} SELECT * FROM ${table} ORDER BY created_at, request_id LIMIT ${block} OFFSET ${at}`,
          );
      });
      const merge = await cpu(() => clickhouse.command(`OPTIMIZE TABLE ${copy} FINAL`));
      const [size] = await clickhouse.query<{ bytes: number | string }>(
        `SELECT sum(data_compressed_bytes) AS bytes FROM system.parts WHERE active AND database = currentDatabase() AND table = '${copy}'`,
      );
      const all = done.get(name) ?? { insert: [], merge: [], bytes: 0 };
      done.set(name, all);
      all.insert.push(insert);
      all.merge.push(merge);
      all.bytes = Number(size!.bytes) / count;
      await clickhouse.command(`DROP TABLE ${copy} SYNC`);
    }
  return [...done].map(([name, { insert, merge, bytes }]) => ({
    ...{ table, codecs: name, bytes: significant(bytes, 3) },
    // The same reading of the rows is in all of them.
    insert_us: significant(median(insert), 3),
    merge_us: significant(median(merge), 3),
  }));
}
