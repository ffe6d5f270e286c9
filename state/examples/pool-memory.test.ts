// Pages that a pool writes hold nothing but examples: what the process's memory held before (other
// tenants' documents, keys) isn't written into their unused part.
import { readFile } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { anExample } from "./examples.testing.ts";
import { pageSize, storeFile } from "./layout.ts";
import { cleanUp, testFolder, testPool } from "./pool.testing.ts";

afterEach(cleanUp);

test("writes none of the memory that was freed before", async () => {
  const folder = await testFolder();
  const pool = await testPool({ folder });
  const between = leaveInMemory("zebrafinch ");
  for (let from = 0; from < 400; from += 40)
    await pool.upsert(Array.from({ length: 40 }, (_, i) => anExample({ id: `example-${from + i}` })));
  const written = await readFile(storeFile(folder));
  expect(written.includes("example-399")).toBe(true);
  expect(written.includes("zebrafinch")).toBe(false);
  expect(between).toHaveLength(1000);
});

/** Frees pieces of the size of LMDB's pages, which malloc hands out again: those between stay. */
function leaveInMemory(word: string): Buffer[] {
  const pieces = Array.from({ length: 2000 }, () => Buffer.allocUnsafeSlow(pageSize).fill(word));
  const between = pieces.filter((_, i) => i % 2 === 0);
  pieces.length = 0;
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return between;
}
