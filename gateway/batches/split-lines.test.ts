import { describe, expect, test } from "vitest";
import { splitLines } from "./split-lines.ts";

async function* chunksOf(...parts: (string | Buffer)[]) {
  for (const part of parts) yield await Promise.resolve(Buffer.from(part));
}
async function linesOf(most: number, ...parts: (string | Buffer)[]) {
  const found: [number, string, boolean][] = [];
  for await (const { line, bytes, tooLong } of splitLines(chunksOf(...parts), most))
    found.push([line, bytes.toString(), tooLong]);
  return found;
}

describe("lines of an upload", () => {
  test("end at LF or CRLF, wherever the chunks end; the last one needs no end", async () => {
    const parts = ["\uFEFFone\r", "\ntw", "", "o\n", "\n  \t\r\nth\u2028ree\nfo", "ur"];
    expect(await linesOf(100, ...parts)).toEqual([
      [1, "one", false],
      [2, "two", false],
      [5, "th\u2028ree", false],
      [6, "four", false],
    ]);
  });
  test("of characters that are split between chunks are whole", async () => {
    const bytes = Buffer.from("é€😀\n");
    expect(await linesOf(100, ...[...bytes].map((byte) => Buffer.from([byte])))).toEqual([[1, "é€😀", false]]);
  });
  test("that are too long are cut, and the next one is whole", async () => {
    const [first, second, third] = await linesOf(8_192, "a".repeat(8_192), "b\n", "c".repeat(8_192) + "\n", "d");
    expect(first).toEqual([1, "a".repeat(4_096), true]);
    expect(second).toEqual([2, "c".repeat(8_192), false]);
    expect(third).toEqual([3, "d", false]);
  });
  test("without an end hold no memory", async () => {
    async function* endless() {
      for (let i = 0; i < 2_000; i++) yield await Promise.resolve(Buffer.alloc(65_536, "x"));
    }
    const found = [];
    for await (const one of splitLines(endless(), 1_000)) found.push(one);
    expect(found.map(({ bytes, ...one }) => [one, bytes.length])).toEqual([[{ line: 1, tooLong: true }, 4_096]]);
  });
  test("of an empty upload, or of blanks alone, are none", async () => {
    expect(await linesOf(10)).toEqual([]);
    expect(await linesOf(10, "", "\n\r\n \n")).toEqual([]);
  });
});
