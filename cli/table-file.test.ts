import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { parseExact } from "../algorithms/text/exact-json.ts";
import { readTable, type TableRow } from "./table-file.ts";

const folder = mkdtempSync(join(tmpdir(), "precedent-table-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function read(name: string, content: string | Uint8Array): Promise<TableRow[]> {
  const file = join(folder, name);
  writeFileSync(file, content);
  const rows: TableRow[] = [];
  for await (const row of readTable(file, new AbortController().signal)) rows.push(row);
  return rows;
}
const row = (number: number, one: object): TableRow => ({ number, row: one as Record<string, unknown> });
/** "id\n1\n" by zstd. */
const zstd = Buffer.from("KLUv/SAFKQAAaWQKMQo=", "base64");

it("reads any separator, quotes, line ends and a byte order mark", async () => {
  for (const separator of [",", ";", "\t", "|"]) {
    const lines = [
      ["id", "text"],
      ["1", `"say ""hi""\r\n${separator}"`],
      ["2", '5" pipe'],
      ["3", "\\N"],
      ["4", '"\\N"'],
      ["", ""],
    ];
    const text = lines.map((cells) => cells.join(separator)).join("\r\n");
    expect(await read("a.csv", `\uFEFF${text}`)).toEqual([
      row(1, { id: "1", text: `say "hi"\r\n${separator}` }),
      row(2, { id: "2", text: '5" pipe' }),
      row(3, { id: "3", text: null }),
      row(4, { id: "4", text: "\\N" }),
      row(5, { id: "", text: "" }),
    ]);
  }
});

it("reads mixed line ends, blank lines before the header, and the separator that Excel names", async () => {
  const rows = [row(1, { id: "1", text: "a, b" }), row(2, { id: "2", text: "c" })];
  for (const text of [
    'id,text\r\n1,"a, b"\n2,c\n',
    'id,text\n1,"a, b"\r\n2,"c"\r\n',
    "\r\n\r\nid;text\r\n1;a, b\r\n2;c\r\n",
    "id;text\r1;a, b\r2;c\r",
    "sep=;\r\nid;text\r\n1;a, b\r\n2;c",
  ])
    expect(await read("a.csv", text)).toEqual(rows);
});

it("says which rows of a CSV can't be read, and goes on", async () => {
  expect(await read("a.csv", 'a,b\n1\n1,2,3\n\n1,2\n"x,')).toEqual([
    { number: 1, problem: "it has another number of fields than the header" },
    { number: 2, problem: "it has another number of fields than the header" },
    row(3, { a: "1", b: "2" }),
    { number: 4, problem: expect.stringContaining("is a quote left open?") },
  ]);
});

it("reads objects in a list, in lines, one behind the other and within an answer", async () => {
  const text = '{"a":"}\\"{","b":[{}]}';
  const one = { a: '}"{', b: [{}] };
  for (const given of [
    `[${text},\n ${text}]`,
    `${text}\n${text}`,
    `${text}${text}`,
    `{"data":[${text},${text}],"meta":{}}`,
  ])
    expect(await read("a.json", given)).toEqual([row(1, one), row(2, one)]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.dictionary(fc.string(), fc.jsonValue())), fc.nat(2), async (objects, indent) => {
      const found = await read("b.json", ` ${JSON.stringify(objects, null, indent)}`);
      expect(found.map((given) => ("row" in given ? given.row : given.problem))).toEqual(
        parseExact(JSON.stringify(objects)),
      );
    }),
    { numRuns: 100 },
  );
});

it("keeps ids that no double holds, and says which lines are no objects", async () => {
  expect(await read("a.jsonl", '{"id":9007199254740993}\r\n[1]\n\n{"id":"\u2028"}\n{')).toEqual([
    row(1, { id: "9007199254740993" }),
    { number: 2, problem: "it is no JSON object" },
    row(4, { id: "\u2028" }),
    { number: 5, problem: "it is no JSON object" },
  ]);
});

it("leaves out rows whose bytes are no UTF-8, and no others", async () => {
  const bytes = (text: string) => Buffer.from(text, "latin1");
  const own = Buffer.from('{"a":"\uFFFD ü"}\n');
  expect(await read("l.jsonl", Buffer.concat([bytes('{"a":"gro\u00df"}\n{"a":"b"}\n')]))).toEqual([
    { number: 1, problem: expect.stringMatching(/no UTF-8.*iconv/) },
    row(2, { a: "b" }),
  ]);
  expect(await read("o.jsonl", own)).toEqual([row(1, { a: "\uFFFD ü" })]);
  expect(await read("l.csv", bytes("id,a\n1,\u00fcber\n2,b"))).toMatchObject([
    { number: 1, problem: expect.stringMatching(/no UTF-8/) },
    row(2, { id: "2", a: "b" }),
  ]);
  await expect(read("h.csv", bytes("id,gr\u00f6\u00dfe\n1,2"))).rejects.toThrow(/its header: .*no UTF-8/);
  // Cut within a character.
  expect(await read("c.jsonl", Buffer.from('{"a":"ü').subarray(0, 7))).toMatchObject([{ problem: expect.any(String) }]);
});

it("unpacks gzip and Zstandard, by what stands in the file", async () => {
  expect(await read("a.csv.gz", gzipSync("id\n1\n"))).toEqual([row(1, { id: "1" })]);
  expect(await read("b.csv", gzipSync("id\n1\n"))).toEqual([row(1, { id: "1" })]);
  expect(await read("a.csv.zst", zstd)).toEqual([row(1, { id: "1" })]);
  await expect(read("c.csv.gz", gzipSync("id\n1\n").subarray(0, 15))).rejects.toThrow(/c\.csv\.gz: .*unexpected end/);
  for (let end = 5; end < zstd.length; end++)
    await expect(read("c.csv.zst", zstd.subarray(0, end)), String(end)).rejects.toThrow(/c\.csv\.zst: .*unexpected/);
});

it.each([
  ["a.csv", "", /it is empty/],
  ["a.xlsx", "x", /its name must end in \.jsonl/],
  ["u.csv", Buffer.from("\uFEFFid\n1", "utf16le"), /UTF-16.*iconv/],
  ["u.jsonl", Buffer.from('{"id":1}', "utf16le"), /UTF-16/],
  ["a.csv", "id,id\n1,2", /two columns have the name id/],
  ["a.jsonl", "x".repeat(33 * 1_048_576), /more than 32 MiB/],
])("refuses %s whole", async (name, content, message) => {
  await expect(read(name, content)).rejects.toThrow(message);
});

it("follows links, and refuses folders and what is not there", async () => {
  writeFileSync(join(folder, "real.jsonl"), "{}");
  symlinkSync("real.jsonl", join(folder, "link.jsonl"));
  const first = (file: string) => readTable(join(folder, file), new AbortController().signal).next();
  expect((await first("link.jsonl")).value).toEqual(row(1, {}));
  await expect(first("missing.jsonl")).rejects.toThrow(/there is no such file/);
  symlinkSync(".", join(folder, "folder.jsonl"));
  await expect(first("folder.jsonl")).rejects.toThrow(/it is no file/);
});
