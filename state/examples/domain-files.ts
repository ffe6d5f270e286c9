// Index files of the domains and the journal of changes since: what a restart reads. In the pool's
// turn, but for the writing of a file.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Database } from "lmdb";
import { VectorError, type VectorIndex, type VectorIndexes } from "../vectors/port.ts";
import type { Layout } from "./layout.ts";
import type { Ledger } from "./ledger.ts";
import { keyOf, slotOf } from "./records.ts";
import { jsonOf } from "../../algorithms/text/json-shape.ts";

export interface Entry {
  /** The slot. */
  key: number;
  value: Buffer;
}

/** About 1 ms of work each: others get their turn in between. */
const rowsAtOnce = 512;

export const rangeOf = (domain: number) => ({ start: slotOf(domain, 0), end: slotOf(domain + 1, 0) });

export async function* entriesOf(
  database: Database<Buffer, number>,
  domain: number,
  limit = rowsAtOnce,
): AsyncGenerator<Entry[]> {
  let { start } = rangeOf(domain);
  for (;;) {
    const entries = Array.from(database.getRange({ ...rangeOf(domain), start, limit }));
    const last = entries.at(-1);
    if (last === undefined) return;
    yield entries;
    start = last.key + 1;
    await yieldToOthers();
  }
}

export function createDomainFiles({ vectors, journal }: Layout, ledger: Ledger, folder: string) {
  const fileOf = (domain: number): string => join(folder, `domain-${domain}.index`);

  /** Takes entries up to `sequence` out of the journal. */
  async function trim(domain: number, sequence: number): Promise<void> {
    for await (const entries of entriesOf(journal, domain, 8 * rowsAtOnce))
      await ledger.change(() => {
        for (const { key, value } of entries) if (value.readDoubleLE(0) <= sequence) void journal.remove(key);
      });
  }

  return {
    fileOf,
    trim,
    /** The index and its last sequence. VectorError bad_snapshot if not of this pool. */
    async read(domain: number, name: string, from: VectorIndexes): Promise<{ index: VectorIndex; sequence: number }> {
      const { index, note } = await from.restore(fileOf(domain));
      const reported = readNote(note);
      const { store, model, sequence } = ledger.header;
      if (
        reported?.store === store &&
        reported.domain === name &&
        reported.model === model &&
        reported.sequence <= sequence
      )
        return { index, sequence: reported.sequence };
      await index.close();
      throw new VectorError("bad_snapshot", `it belongs to another state of the pool: ${note}`);
    },
    /** Changes after `sequence`, in their present state. */
    async *changedSince(domain: number, sequence: number): AsyncGenerator<{ gone: number[]; come: Entry[] }> {
      for await (const entries of entriesOf(journal, domain)) {
        const gone: number[] = [];
        const come: Entry[] = [];
        for (const { key, value: at } of entries) {
          if (at.readDoubleLE(0) <= sequence) continue;
          const value = vectors.getBinary(key);
          if (value === undefined) gone.push(keyOf(key));
          else come.push({ key, value });
        }
        yield { gone, come };
      }
    },
    /** As the index is now, with every change of the store before. */
    write(domain: number, name: string, index: VectorIndex): Promise<void> {
      const { store, model, sequence } = ledger.header;
      return index.save(fileOf(domain), writeNote({ store, domain: name, model, sequence }));
    },
    async forget(domain: number): Promise<void> {
      await rm(fileOf(domain), { force: true });
      await ledger.change(() => ledger.setJournal(domain, false));
      await trim(domain, Infinity);
    },
    async sweep(): Promise<void> {
      const known = new Set(
        [...ledger.domains()].flatMap(([domain, { journal: has }]) => (has ? [fileOf(domain)] : [])),
      );
      for (const name of await readdir(folder))
        if (/^domain-.*\.index/.test(name) && !known.has(join(folder, name)))
          await rm(join(folder, name), { force: true });
    },
  };
}

/** What an index file says of itself: it must not pass for the index of another state. */
interface Note {
  /** Random name of the store that it belongs to. */
  store: string;
  domain: string;
  model: string;
  sequence: number;
}

const writeNote = (note: Note): string => JSON.stringify(note);

/** null: nothing that save() wrote. */
const readNote = (note: string): Note | null =>
  // The file's checksum says that it is what save() wrote, or the index's own tests.
  (jsonOf(note) as Note | null | undefined) ?? null;
