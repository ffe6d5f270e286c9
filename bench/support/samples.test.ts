import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readAppended, readLines, shuffled } from "./samples.ts";

it("puts in the same order every time, and not in the one that was given", () => {
  const all = Array.from({ length: 100 }, (_, i) => i);
  const order = shuffled(all, 1);
  expect(shuffled(all, 1)).toEqual(order);
  expect(order).not.toEqual(all);
  expect(shuffled(all, 2)).not.toEqual(order);
  expect([...order].sort((a, b) => a - b)).toEqual(all);
});

it("reads one value a line, and passes over empty lines", async () => {
  const folder = await mkdtemp(join(tmpdir(), "samples-"));
  await writeFile(join(folder, "a.jsonl"), '{"a":1}\n\n{"a":2}\n');
  expect(await readLines<{ a: number }>(join(folder, "a.jsonl"))).toEqual([{ a: 1 }, { a: 2 }]);
  await rm(folder, { recursive: true });
});

it("takes half a line off a file that is appended to, and the next line stands alone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "samples-"));
  const file = join(folder, "a.jsonl");
  expect(await readAppended(file)).toEqual([]);
  const half = Buffer.from('{"a":"é"}\n{"a":"é').subarray(0, -1);
  await writeFile(file, half);
  for (const more of [[], [{ a: "next" }]]) {
    for (const row of more) await appendFile(file, `${JSON.stringify(row)}\n`);
    expect(await readAppended(file)).toEqual([{ a: "é" }, ...more]);
  }
  // What is whole and broken all the same is an error.
  await appendFile(file, "{\n");
  await expect(readAppended(file)).rejects.toThrow(SyntaxError);
  await writeFile(file, "{");
  expect(await readAppended(file)).toEqual([]);
  await rm(folder, { recursive: true });
});
