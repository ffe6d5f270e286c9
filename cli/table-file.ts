// Rows of a file of another system: JSONL, JSON, CSV with a header, Parquet; also compressed by
// gzip or Zstandard. A row that can't be read is a problem of its own, a file that can't be a
// CommandError.
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { parse } from "csv-parse";
import { Decompress } from "fzstd";
import { parseExact } from "../algorithms/text/exact-json.ts";
import { listOf } from "../algorithms/text/json-shape.ts";
import { objectOf, type Json } from "../analysis/import/foreign.ts";
import { broken, decoded, linesOf, longestLine, notUtf8 } from "../connections/lines.ts";
import { readParquet } from "../stack/convert.ts";
import { CommandError, UsageError } from "./io.ts";

/** number: from 1, of the lines or, where there are none, of the rows. */
export type TableRow = { number: number } & ({ row: Json } | { problem: string });

const kinds = ["jsonl", "ndjson", "json", "csv", "tsv", "parquet"] as const;
type Kind = (typeof kinds)[number];

/** Bytes. CommandError where there is no such file. */
export async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${file}: ${error.code === "ENOENT" ? "there is no such file" : error.message}`);
  });
  if (!found.isFile()) throw new CommandError(`${file}: it is no file`);
  return found.size;
}

/** By the file's name. CommandError or UsageError where it can't be read as a table. */
export async function tableKind(file: string): Promise<Kind> {
  const kind = /\.([a-z]+)(?:\.(?:gz|gzip|zst|zstd))?$/i.exec(file)?.[1]?.toLowerCase() as Kind;
  if (!kinds.includes(kind))
    throw new UsageError(`${file}: its name must end in .${kinds.join(", .")} (.gz and .zst too)`);
  if ((await sizeOf(file)) === 0) throw new CommandError(`${file}: it is empty`);
  return kind;
}

export async function* readTable(file: string, signal: AbortSignal): AsyncGenerator<TableRow> {
  const kind = await tableKind(file);
  if (kind === "parquet") yield* rowsIn(linesOf(file, longestLine, decoded(readParquet(file, signal))));
  else {
    const text = decoded(await contentOf(file, signal), broken);
    if (kind === "csv" || kind === "tsv") yield* csvRows(file, text);
    else if (kind === "json") yield* rowsIn(objectsIn(file, text), (row) => listOf(row["data"]));
    else yield* rowsIn(linesOf(file, longestLine, text));
  }
}

async function contentOf(file: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  const handle = await open(file);
  const start = Buffer.alloc(4);
  try {
    await handle.read(start, 0, 4, 0);
  } finally {
    await handle.close();
  }
  const [a, b, c, d] = start;
  const isWide =
    (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff) || (b === 0 && d === 0 && a !== 0) || (a === 0 && c === 0);
  if (isWide) throw new CommandError(`${file}: it is UTF-16, and UTF-8 is expected: iconv -f UTF-16 -t UTF-8`);
  const stream = createReadStream(file, { signal });
  if (start.readUInt16BE() === 0x1f8b)
    return unpacked(
      file,
      pipeline(stream, createGunzip(), () => undefined),
      signal,
    );
  return start.readUInt32BE() === 0x28b52ffd ? unpacked(file, unzstd(stream), signal) : stream;
}

async function* unpacked(file: string, parts: AsyncIterable<Uint8Array>, signal: AbortSignal) {
  try {
    yield* parts;
  } catch (error) {
    throw signal.aborted ? error : new CommandError(`${file}: it can't be unpacked to its end: ${String(error)}`);
  }
}

async function* unzstd(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let made: Uint8Array[] = [];
  const decompress = new Decompress((part) => void made.push(part));
  for await (const part of parts) {
    decompress.push(part);
    yield* made;
    made = [];
  }
  decompress.push(new Uint8Array(), true);
  yield* made;
}

/** within: rows that stand in another, as APIs answer. */
async function* rowsIn(
  texts: AsyncIterable<string>,
  within: (row: Json) => readonly unknown[] = () => [],
): AsyncGenerator<TableRow> {
  let number = 0;
  for await (const text of texts) {
    number++;
    if (text.trim() === "") continue;
    const row = rowOf(text);
    if (text.includes(broken)) yield { number, problem: notUtf8 };
    else if (row === undefined) yield { number, problem: "it is no JSON object" };
    else if ("id" in row || within(row).length === 0) yield { number, row };
    else
      for (const one of within(row).map(objectOf)) {
        if (one !== undefined) yield { number, row: one };
        number++;
      }
  }
}

function rowOf(json: string): Json | undefined {
  try {
    return objectOf(parseExact(json));
  } catch {
    return undefined;
  }
}

/** The outermost objects, whether in a list, in lines or one behind the other. */
async function* objectsIn(file: string, parts: AsyncIterable<string>): AsyncGenerator<string> {
  let [pieces, length, depth] = [[] as string[], 0, 0];
  let [isText, isEscaped] = [false, false];
  for await (const part of parts) {
    let from = 0;
    for (let at = 0; at < part.length; at++) {
      const character = part[at]!;
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (character === "\\") isEscaped = true;
        else if (character === '"') isText = false;
      } else if (depth > 0 && character === '"') isText = true;
      else if (character === "{" && ++depth === 1) from = at;
      else if (character === "}" && depth > 0 && --depth === 0) {
        yield pieces.join("") + part.slice(from, at + 1);
        [pieces, length] = [[], 0];
      }
    }
    if (depth === 0) continue;
    pieces.push(part.slice(from));
    length += part.length - from;
    if (length > longestLine)
      throw new CommandError(`${file}: an object in it has more than ${longestLine / 1_048_576} MiB`);
  }
  if (depth > 0) yield pieces.join("");
}

/** The separator that the header has most of, outside quotes. */
function delimiterOf(header: string): string {
  const bare = header.replace(/"[^"]*"/g, "");
  const counts = [",", ";", "\t", "|"].map((one) => [one, bare.split(one).length] as const);
  return counts.reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

const lineEnds = ["\r\n", "\n", "\r"];
/** Characters that are looked at for the separator. */
const mostHeader = 1_048_576;

async function* csvRows(file: string, text: AsyncGenerator<string>): AsyncGenerator<TableRow> {
  let start = "";
  // To the end of the first line that says something; a "\r" at the end may be half of one.
  const isThere = (): boolean => start.length > mostHeader || /[\r\n]./s.test(start.trimStart());
  for (let next; !isThere() && !(next = await text.next()).done;) start += next.value;
  // Excel names the separator before the header.
  const [named = "", separator] = /^\s*"?sep=(.)"?(?:\r\n|\r|\n|$)/i.exec(start) ?? [];
  start = start.slice(named.length).replace(/^[\r\n]+/, "");
  const source = Readable.from(
    (async function* () {
      yield start;
      yield* text;
    })(),
  );
  const parser = parse({
    delimiter: separator ?? delimiterOf(start.split(/\r|\n/, 1)[0] ?? ""),
    record_delimiter: lineEnds,
    ...{ relax_column_count: true, relax_quotes: true, skip_empty_lines: true, max_record_size: longestLine },
    // As ClickHouse and others write NULL.
    cast: (value, { quoting }) => (!quoting && value === "\\N" ? null : value),
  });
  // Its error comes out of the loop.
  pipeline(source, parser, () => undefined);
  let header: string[] | undefined;
  let number = 0;
  try {
    for await (const cells of parser as AsyncIterable<(string | null)[]>) {
      if (header === undefined) {
        header = cells.map((name) => (name ?? "").trim());
        const twice = header.find((name, at) => name !== "" && header!.indexOf(name) !== at);
        if (header.some((name) => name.includes(broken))) throw new CommandError(`${file}: its header: ${notUtf8}`);
        if (twice !== undefined) throw new CommandError(`${file}: two columns have the name ${twice}: rename one`);
        continue;
      }
      number++;
      if (cells.some((cell) => cell?.includes(broken))) yield { number, problem: notUtf8 };
      else if (cells.length !== header.length)
        yield { number, problem: "it has another number of fields than the header" };
      else
        yield {
          number,
          row: Object.fromEntries(header.flatMap((name, at) => (name === "" ? [] : [[name, cells[at]]]))),
        };
    }
  } catch (error) {
    const code = (error as { code?: string }).code ?? "";
    if (!code.startsWith("CSV_")) throw error;
    yield { number: number + 1, problem: `it and all after it can't be read as CSV (${code}): is a quote left open?` };
  }
}
