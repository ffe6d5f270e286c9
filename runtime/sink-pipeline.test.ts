import { expect, it } from "vitest";
import type { Batch, TableLines } from "./rows.ts";
import { sinkPipeline, type InsertRows } from "./sink-pipeline.ts";

it("names its steps in order, and rows pass them in that order, each with its own dependencies", async () => {
  const passed: string[] = [];
  const through =
    (name: string) =>
    ({ insert, log }: { insert: InsertRows; log: string[] }): InsertRows =>
    (tables, signal) => {
      log.push(name);
      return insert(tables, signal);
    };
  const batch = {} as Batch;
  const sink = sinkPipeline()
    .decode(
      "decode",
      ({ prefix }: { prefix: string }) =>
        (text: string) =>
          prefix + text,
    )
    .batch("batch", () => batch)
    .through("first", through("first"))
    .through("second", through("second"))
    .insert("insert", ({ log, table }: { log: string[]; table: string }) => (tables: readonly TableLines[]) => {
      log.push(`${table} ${tables.length}`);
      return Promise.resolve();
    });
  expect(sink.operators).toEqual(["decode", "batch", "first", "second", "insert"]);

  const bound = sink.bind({ prefix: "> ", log: passed, table: "t" });
  expect(bound.decode("x")).toBe("> x");
  expect(bound.batch).toBe(batch);
  await bound.insert([], new AbortController().signal);
  expect(passed).toEqual(["first", "second", "t 0"]);
});
