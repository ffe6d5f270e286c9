import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { linesOf } from "./lines.ts";

const folder = mkdtempSync(join(tmpdir(), "precedent-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "file");
async function read(text: string, most?: number): Promise<string[]> {
  writeFileSync(file, text);
  const found: string[] = [];
  for await (const line of linesOf(file, most)) found.push(line);
  return found;
}

it("gives the lines, whatever ends them and however long they are", async () => {
  const line = fc
    .oneof(fc.string({ unit: "grapheme" }), fc.constant("é".repeat(40_000)))
    .filter((one) => !/[\r\n]/.test(one));
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 9 }),
      fc.constantFrom("\n", "\r\n"),
      async (lines, end) => {
        expect(await read(lines.map((one) => one + end).join(""))).toEqual(lines);
        expect(await read(`${lines.join(end)}${end}last`)).toEqual([...lines, "last"]);
      },
    ),
    { numRuns: 50 },
  );
});

it("ends at a line that is too long, and says which", async () => {
  await expect(read(`short\n${"x".repeat(300_000)}`, 100_000)).rejects.toThrow(/line 2: it has more than/);
});

it("splits at LF alone: what else ends lines elsewhere is text", async () => {
  const text = ["a\u2028b", "c\u2029d\u0085e\vf\fg", "h\ri", "nul\u0000"];
  expect(await read(text.join("\n"))).toEqual(text);
});

it("takes byte order marks off, also of files put together, and no other U+FEFF", async () => {
  expect(await read("\uFEFFone\r\n\uFEFFtwo\uFEFF\n\uFEFF")).toEqual(["one", "two\uFEFF", ""]);
});

it("says what to do with UTF-16", async () => {
  writeFileSync(file, Buffer.from("\uFEFF{}\n", "utf16le"));
  await expect(linesOf(file).next()).rejects.toThrow(/no UTF-8.*iconv/);
});
