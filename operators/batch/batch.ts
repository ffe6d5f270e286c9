// Second verb of record: gathers rows by table, as text, bounded in rows and bytes. Needs rows in
// partition order; never waits.
import { createChunks } from "../../runtime/chunks.ts";
import { createLines, type LinesBuilder } from "../../runtime/lines.ts";
import type { Batch, Source, TableLines } from "../../runtime/rows.ts";

export interface BatchLimits {
  maxRows: number;
  /** Limit of the bytes of the rows' text and of the records' values as they came. */
  maxBytes: number;
}

/** What a record without a value still costs. */
const recordOverhead = 256;

export function createBatch({ maxRows, maxBytes }: BatchLimits): Batch {
  const chunks = createChunks();
  let before = new Map<string, LinesBuilder>();
  let last = new Map<string, LinesBuilder>();
  let positions = new Map<string, { topic: string; partition: number; offset: number }>();
  let rows = 0;
  let bytes = 0;

  function linesOf(into: Map<string, LinesBuilder>, table: string): LinesBuilder {
    let lines = into.get(table);
    if (lines === undefined) into.set(table, (lines = createLines(chunks)));
    return lines;
  }

  function moveTo(source: Source): void {
    const { topic, partition, record } = source;
    positions.set(`${topic}/${partition}`, { topic, partition, offset: record.offset + 1 });
    bytes += recordOverhead + (record.value?.length ?? 0);
  }

  const tablesOf = (map: Map<string, LinesBuilder>): TableLines[] =>
    [...map].map(([table, lines]) => ({ table, lines }));

  return {
    add(source, tables) {
      tables.forEach(({ table, rows: added }, index) => {
        if (added.length === 0) return;
        const lines = linesOf(index === tables.length - 1 ? last : before, table);
        const held = lines.bytes();
        for (const row of added) lines.add(row, source);
        rows += added.length;
        bytes += lines.bytes() - held;
      });
      moveTo(source);
    },
    skip: moveTo,
    isFull: () => rows >= maxRows || bytes >= maxBytes,
    isEmpty: () => positions.size === 0,
    rows: () => rows,
    take() {
      const { giveBack } = chunks.handOver();
      const taken = {
        before: tablesOf(before),
        last: tablesOf(last),
        positions: [...positions.values()],
        done: giveBack,
      };
      before = new Map();
      last = new Map();
      positions = new Map();
      rows = 0;
      bytes = 0;
      return taken;
    },
  };
}
