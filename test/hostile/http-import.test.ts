// A file of a few kilobytes that unpacks to gigabytes ends its import, and leaves nothing behind.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { query } from "chdb";
import { afterAll, expect, test } from "vitest";
import { readParquet } from "../../stack/convert.ts";

const folder = mkdtempSync(join(tmpdir(), "precedent-hostile-import-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a Parquet file that inflates is refused", { timeout: 120_000 }, async () => {
  const file = join(folder, "bomb.parquet");
  query(
    `SELECT repeat('a', 1000000) AS request FROM numbers(600) INTO OUTFILE '${file}' FORMAT Parquet
     SETTINGS output_format_parquet_compression_method = 'zstd', max_block_size = 50, output_format_parquet_row_group_size = 50`,
  );
  expect(statSync(file).size).toBeLessThan(1_048_576);
  const reading = async (): Promise<void> => {
    for await (const _part of readParquet(file, new AbortController().signal));
  };
  await expect(reading()).rejects.toThrow(
    /bomb\.parquet: it unpacks to more than \d+ MiB.* convert it to JSONL in pieces/,
  );
  expect(readdirSync(folder)).toEqual(["bomb.parquet"]);
});
