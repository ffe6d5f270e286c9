// precedent examples list, rank, export: the pool in ClickHouse, and what better ones would gain.
import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { once } from "node:events";
import type { Command } from "commander";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { CommandError, type Io } from "./io.ts";
import { domainNamed, parseCount } from "./options.ts";
import { ago, jsonLines, oneLine, tableOf, withClickHouse } from "./reading.ts";

interface Where {
  tenant?: string;
  domain?: string;
}
export interface Listed {
  id: string;
  tenant: string;
  domain: string;
  request: string;
  response: string;
  quality: number;
  bytes: number;
  source: string;
  model: string;
  embeddingModel: string;
  requestId: string | null;
  replays: number;
  createdAt: number;
  expiresAt: number | null;
}

const columns = `example_id AS id, tenant, domain, request, response, quality, bytes, source_arm AS source, source_model AS model, embedding_model AS embeddingModel,
  source_request_id AS requestId, replays, toUnixTimestamp64Milli(created_at) AS createdAt, toUnixTimestamp64Milli(expires_at) AS expiresAt`;

/** With parameters tenant and domain; empty ones mean any. */
const within =
  "NOT deleted AND ({tenant:String} = '' OR tenant = {tenant:String}) AND ({domain:String} = '' OR domain = {domain:String})";
const scope = ({ tenant, domain }: Where): Record<string, string> => ({
  tenant: tenant ?? "",
  domain: domainNamed(domain, tenant) ?? "",
});

export function addReadingExamples(examples: Command, io: Io): void {
  const reading = (name: string, description: string): Command =>
    examples
      .command(name)
      .description(description)
      .option("-t, --tenant <name>", "of this owner")
      .option("-d, --domain <name>", "of this domain of the tenant, or a sharing domain: tenant/domain, +/domain");

  reading("list", "the newest examples")
    .option("-n, --limit <count>", "how many", parseCount, 20)
    .option("--json", "one object a line, with all texts")
    .action(async ({ limit, json, ...where }: Where & { limit: number; json?: boolean }, command: Command) => {
      const rows = await withClickHouse(command, io, (clickhouse) =>
        clickhouse.query<Listed>(
          `SELECT ${columns} FROM examples FINAL WHERE ${within} ORDER BY createdAt DESC, id LIMIT {limit:UInt32}`,
          { ...scope(where), limit },
        ),
      );
      io.out(json === true ? jsonLines(rows) : describeList(rows, Date.now()));
    });

  reading(
    "rank",
    "what bettering an example would gain: G(e), the time-decayed sum of (1 - quality) x cost over its uses",
  )
    .option("-n, --limit <count>", "how many", parseCount, 20)
    .option("--json", "one object a line")
    .action(async ({ limit, json, ...where }: Where & { limit: number; json?: boolean }, command: Command) => {
      const rows = await withClickHouse(command, io, (clickhouse) => readRanking(clickhouse, scope(where), limit));
      io.out(json === true ? jsonLines(rows) : describeRanking(rows));
    });

  reading("export", "all examples as JSONL that import reads; - is the standard output")
    .argument("<file>", "JSONL")
    .action(async (name: string, where: Where, command: Command) => {
      const count = await withClickHouse(command, io, (clickhouse) => exportTo(clickhouse, name, scope(where), io));
      io.note(`exported ${count} examples\n`);
    });
}

interface Ranked {
  id: string;
  gain: number;
  uses: number;
  rated: number;
  quality: number;
  replays: number;
  source: string;
  request: string;
}
const readRanking = (clickhouse: ClickHouse, where: Record<string, string>, limit: number): Promise<Ranked[]> =>
  clickhouse.query<Ranked>(
    `SELECT example_id AS id, gain, uses, rated_uses AS rated, mean_quality AS quality, replays, source_arm AS source, request
     FROM example_gain WHERE ({tenant:String} = '' OR tenant = {tenant:String}) AND ({domain:String} = '' OR domain = {domain:String})
     ORDER BY gain DESC, id LIMIT {limit:UInt32}`,
    { ...where, limit },
  );

export async function findExamples(clickhouse: ClickHouse, id: string): Promise<Listed[]> {
  const rows = await clickhouse.query<Listed>(
    `SELECT ${columns} FROM examples FINAL WHERE NOT deleted AND startsWith(example_id, {id:String}) ORDER BY id LIMIT 2`,
    { id },
  );
  if (rows.length === 0) throw new CommandError(`there is no example ${id} (precedent examples list)`);
  return rows;
}

const describeRanking = (rows: readonly Ranked[]): string =>
  tableOf(
    ["gain", "uses", "rated", "mean quality", "replays", "source", "id", "request"],
    rows.map(({ gain, uses, rated, quality, replays, source, id, request }) => [
      ...[Number(gain.toPrecision(3)), uses, rated, Number(quality.toFixed(2)), replays],
      ...[source, id.slice(0, 12), oneLine(request, 50)],
    ]),
  );

function describeList(rows: readonly Listed[], now: number): string {
  return tableOf(
    ["id", "domain", "quality", "bytes", "age", "source", "request", "response"],
    rows.map(({ id, domain, quality, bytes, createdAt, source, request, response }) => [
      ...[id.slice(0, 12), domain, quality, bytes, ago(now - createdAt)],
      ...[source, oneLine(request, 40), oneLine(response, 40)],
    ]),
  );
}

const page = 1_000;

/** Page by page by id: little memory, and changes meanwhile do no harm. */
async function exportTo(clickhouse: ClickHouse, name: string, where: Record<string, string>, io: Io): Promise<number> {
  const file = name === "-" ? null : createWriteStream(resolve(io.cwd, name));
  let count = 0;
  for (let after = ""; ;) {
    io.signal.throwIfAborted();
    const rows = await clickhouse.query<Listed>(
      `SELECT ${columns} FROM examples FINAL WHERE ${within} AND example_id > {after:String} ORDER BY example_id LIMIT ${page}`,
      { ...where, after },
    );
    const text = jsonLines(rows.map(exportLine));
    if (file === null) io.out(text);
    else if (!file.write(text)) await once(file, "drain");
    count += rows.length;
    after = rows.at(-1)?.id ?? "";
    if (rows.length < page) break;
  }
  if (file !== null) {
    file.end();
    await once(file, "finish");
  }
  return count;
}

function exportLine({ tenant, domain, request, response, quality, model }: Listed): object {
  const own = decodeURIComponent(domain.slice(domain.indexOf("/") + 1));
  return { request, response, tenant, domain: own, quality, model };
}
