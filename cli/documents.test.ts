import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeChunks, describeDocuments, documentOf } from "./documents.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "precedent-documents-cli-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

it("makes a document of a file, by its name unless another is given", async () => {
  const file = join(folder, "handbook.md");
  writeFileSync(file, "Chapter one");
  expect(await documentOf(file, { tenant: "acme" }, 5)).toEqual({
    ...{ tenant: "acme", id: "handbook", title: null, text: "Chapter one", expiresAt: null, createdAt: 5 },
  });
  expect(await documentOf(file, { tenant: "acme", id: "h", title: "H" }, 5)).toMatchObject({ id: "h", title: "H" });
});

it("says what is wrong with a file", async () => {
  const file = join(folder, "bad");
  await expect(documentOf(file, { tenant: "t" }, 5)).rejects.toThrow("can't be read");
  writeFileSync(file, " \n");
  await expect(documentOf(file, { tenant: "t" }, 5)).rejects.toThrow("is empty");
  writeFileSync(file, Buffer.of(0xff, 0xfe, 0x00));
  await expect(documentOf(file, { tenant: "t" }, 5)).rejects.toThrow("no UTF-8");
});

it("names the chunks, and refuses an id that reads like a chunk's", async () => {
  const file = join(folder, "guide.md");
  writeFileSync(file, "One two three.\n\nFour five six.");
  const document = await documentOf(file, { tenant: "t", expires: 60_000 }, 0);
  expect(document.expiresAt).toBe(60_000);
  const shown = describeChunks(document, { split: "meaning", chunkTokens: 4 });
  expect(shown).toContain("guide: 2 chunks, about 9 tokens, expires 1970-01-01 00:01");
  expect(shown).toMatch(/guide#1 .*One two three/);
  expect(shown).toMatch(/guide#2 .*Four five six/);
  for (const id of ["a#1", "", "#22"])
    await expect(documentOf(file, { tenant: "t", id }, 0)).rejects.toThrow("an id is not empty");
  expect((await documentOf(file, { tenant: "t", id: "c#" }, 0)).id).toBe("c#");
});

it("lists by owner and id", () => {
  const one = { tenant: "b", id: "x", title: null, text: "abc", expiresAt: null, createdAt: 0 };
  const lines = describeDocuments([one, { ...one, tenant: "a" }]).split("\n");
  expect(lines.filter((line) => line.includes("1970")).map((line) => line.split("│")[1]?.trim())).toEqual(["a", "b"]);
  expect(describeDocuments([])).toContain("precedent documents put");
});
