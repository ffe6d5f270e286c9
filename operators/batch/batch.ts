// The second verb of record: gathers rows by table until there are enough of them. Bounded in rows
// and in bytes of the records behind them. Needs decoded rows in the order of their partition;
// never waits, never sends.
import { entryOf, type Batch, type Entry, type Row, type Source, type TableEntries } from "../../runtime/rows.ts";

export interface BatchLimits {
  maxRows: number;
  /** Of the records' values as they came; rows are a few times that. */
  maxBytes: number;
}

/** What a record without a value still costs. */
const recordOverhead = 256;

export function createBatch({ maxRows, maxBytes }: BatchLimits): Batch {
  let before = new Map<string, Entry[]>();
  let last = new Map<string, Entry[]>();
  let positions = new Map<string, { topic: string; partition: number; offset: number }>();
  let rows = 0;
  let bytes = 0;

  function gather(into: Map<string, Entry[]>, table: string, added: readonly Row[], source: Source): void {
    if (added.length === 0) return;
    let entries = into.get(table);
    if (entries === undefined) into.set(table, (entries = []));
    for (const row of added) entries.push(entryOf(row, source));
    rows += added.length;
  }

  function moveTo(source: Source): void {
    const { topic, partition, record } = source;
    positions.set(`${topic}/${partition}`, { topic, partition, offset: record.offset + 1 });
    bytes += recordOverhead + (record.value?.length ?? 0);
  }

  const entriesOf = (map: Map<string, Entry[]>): TableEntries[] =>
    [...map].map(([table, entries]) => ({ table, entries }));

  return {
    add(source, tables) {
      tables.forEach(({ table, rows: added }, index) => {
        gather(index === tables.length - 1 ? last : before, table, added, source);
      });
      moveTo(source);
    },
    skip: moveTo,
    isFull: () => rows >= maxRows || bytes >= maxBytes,
    isEmpty: () => positions.size === 0,
    rows: () => rows,
    take() {
      const taken = { before: entriesOf(before), last: entriesOf(last), positions: [...positions.values()] };
      before = new Map();
      last = new Map();
      positions = new Map();
      rows = 0;
      bytes = 0;
      return taken;
    },
  };
}
