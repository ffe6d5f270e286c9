// One vector index a domain, so that a search can't even see another domain (measured against one for all: docs/examples.md). They follow
// what the ledger changed, are restored from their files and the journal, or built from the vectors in the store, and are built again when
// their owner dies. Everything here but search() and figures() runs in the pool's turn.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Logger } from "pino";
import {
  VectorError,
  type IndexFigures,
  type Neighbour,
  type VectorIndex,
  type VectorIndexes,
} from "../vectors/port.ts";
import { readNote, writeNote } from "./index-note.ts";
import type { Layout } from "./layout.ts";
import type { Ledger } from "./ledger.ts";
import { decodeVector, keyOf, slotOf } from "./records.ts";
import type { Touched } from "./store-state.ts";

export interface DomainIndexesOptions {
  layout: Layout;
  ledger: Ledger;
  folder: string;
  /** Called at the start, and again when the owner of the indexes died. */
  openIndexes: () => Promise<VectorIndexes>;
  onDamaged: (slot: number) => void;
  log: Logger;
}

export interface DomainIndex {
  index: VectorIndex;
  /** Since its file was written, or it was opened. */
  changes: number;
  /** What its file knows of its structure. */
  savedSwaps: number;
  savedProbes: number;
}
/** About 1 ms of work each: others get their turn in between. */
const rowsAtOnce = 512;

export const isLost = (error: unknown): boolean => error instanceof VectorError && error.code === "index_unavailable";

export function createDomainIndexes({ layout, ledger, folder, openIndexes, onDamaged, log }: DomainIndexesOptions) {
  const { vectors, journal } = layout;
  const { dimension } = ledger.header;
  let owner: VectorIndexes | null = null;
  let byDomain = new Map<number, DomainIndex>();

  const fileOf = (domain: number): string => join(folder, `domain-${domain}.index`);
  const rangeOf = (domain: number) => ({ start: slotOf(domain, 0), end: slotOf(domain + 1, 0) });

  function held(domain: number): DomainIndex {
    let state = byDomain.get(domain);
    if (state === undefined) {
      if (owner === null) throw new VectorError("index_unavailable", "the vector indexes are not open");
      byDomain.set(domain, (state = { index: owner.open(), changes: 0, savedSwaps: 0, savedProbes: 0 }));
    }
    return state;
  }

  async function change(domain: number, keys: ReadonlyMap<number, Float32Array | null>): Promise<void> {
    const gone: number[] = [];
    const come: number[] = [];
    for (const [key, vector] of keys) (vector === null ? gone : come).push(key);
    const known = byDomain.get(domain);
    if (known !== undefined && gone.length > 0) await known.index.remove(Uint32Array.from(gone));
    if (come.length > 0) {
      const rows = new Float32Array(come.length * dimension);
      come.forEach((key, i) => rows.set(keys.get(key) ?? [], i * dimension));
      await held(domain).index.add(Uint32Array.from(come), rows);
    }
    const state = byDomain.get(domain);
    if (state !== undefined) state.changes += keys.size;
  }

  async function build(domain: number): Promise<void> {
    let start = slotOf(domain, 0);
    for (;;) {
      const entries = Array.from(vectors.getRange({ ...rangeOf(domain), start, limit: rowsAtOnce }));
      const last = entries.at(-1);
      if (last === undefined) return;
      await add(domain, entries);
      start = last.key + 1;
      await yieldToOthers();
    }
  }
  async function add(domain: number, entries: readonly { key: number; value: Buffer }[]): Promise<void> {
    const keys = new Uint32Array(entries.length);
    const rows = new Float32Array(entries.length * dimension);
    let whole = 0;
    for (const { key: slot, value } of entries) {
      const row = rows.subarray(whole * dimension, (whole + 1) * dimension);
      if (decodeVector(slot, value, row) === null) onDamaged(slot);
      else keys[whole++] = keyOf(slot);
    }
    if (whole > 0) await held(domain).index.add(keys.slice(0, whole), rows.slice(0, whole * dimension));
  }

  /** From its file and what the journal says changed since; false: that can't be, and the file is gone. */
  async function restore(domain: number, name: string, from: VectorIndexes): Promise<boolean> {
    const file = fileOf(domain);
    try {
      const { index, note } = await from.restore(file);
      const told = readNote(note);
      const { store, model, sequence } = ledger.header;
      const mine = told?.store === store && told.domain === name && told.model === model && told.sequence <= sequence;
      if (!mine) {
        await index.close();
        throw new VectorError("bad_snapshot", `it belongs to another state of the pool: ${note}`);
      }
      const { swaps, probes } = index.figures();
      byDomain.set(domain, { index, changes: 0, savedSwaps: swaps, savedProbes: probes });
      await replay(domain, told.sequence);
      const expected = vectors.getKeysCount(rangeOf(domain));
      if (index.size() === expected) return true;
      await index.close();
      throw new VectorError("bad_snapshot", `it has ${index.size()} vectors, expected ${expected}`);
    } catch (error) {
      if (!(error instanceof VectorError) || isLost(error)) throw error;
      log.warn(
        { file, domain: name, reason: error.message },
        "the file of a vector index is refused: building it anew",
      );
      byDomain.delete(domain);
      await forgetFile(domain);
      return false;
    }
  }
  /** What changed after `sequence`, in the state that it has now. */
  async function replay(domain: number, sequence: number): Promise<void> {
    let start = slotOf(domain, 0);
    for (;;) {
      const entries = Array.from(journal.getRange({ ...rangeOf(domain), start, limit: rowsAtOnce }));
      const last = entries.at(-1);
      if (last === undefined) return;
      const changed = entries.filter(({ value }) => value.readDoubleLE(0) > sequence).map(({ key }) => key);
      const now = changed.map((key) => ({ key, value: vectors.getBinary(key) }));
      const gone = now.filter(({ value }) => value === undefined).map(({ key }) => keyOf(key));
      if (gone.length > 0) await held(domain).index.remove(Uint32Array.from(gone));
      await add(
        domain,
        now.flatMap(({ key, value }) => (value === undefined ? [] : [{ key, value }])),
      );
      held(domain).changes += changed.length;
      start = last.key + 1;
      await yieldToOthers();
    }
  }
  /** Takes entries up to `sequence` out of the journal. */
  async function trim(domain: number, sequence: number): Promise<void> {
    let start = slotOf(domain, 0);
    for (;;) {
      const entries = Array.from(journal.getRange({ ...rangeOf(domain), start, limit: 8 * rowsAtOnce }));
      const last = entries.at(-1);
      if (last === undefined) return;
      await ledger.change(() => {
        for (const { key, value } of entries) if (value.readDoubleLE(0) <= sequence) void journal.remove(key);
      });
      start = last.key + 1;
    }
  }
  async function forgetFile(domain: number): Promise<void> {
    await rm(fileOf(domain), { force: true });
    await ledger.change(() => ledger.setJournal(domain, false));
    await trim(domain, Infinity);
  }

  /** Files that nothing knows: written while their domain went, or before the store was made anew. */
  async function sweepFiles(): Promise<void> {
    const known = new Set([...ledger.domains()].flatMap(([domain, { journal: has }]) => (has ? [fileOf(domain)] : [])));
    for (const name of await readdir(folder))
      if (/^domain-.*\.index/.test(name) && !known.has(join(folder, name)))
        await rm(join(folder, name), { force: true });
  }

  return {
    /** All of them, as the store says. Rejects with VectorError index_unavailable. */
    async open(): Promise<void> {
      byDomain = new Map();
      await owner?.close();
      owner = null;
      owner = await openIndexes();
      await sweepFiles();
      for (const [domain, { name, journal: hasFile }] of ledger.domains())
        if (!hasFile || !(await restore(domain, name, owner))) await build(domain);
    },

    async follow(touched: Touched): Promise<void> {
      await Promise.all([...touched].map(([domain, keys]) => change(domain, keys)));
      for (const domain of touched.keys()) {
        const state = byDomain.get(domain);
        if (state === undefined || state.index.size() > 0) continue;
        byDomain.delete(domain);
        await state.index.close();
        if (ledger.domains().get(domain)?.journal !== false) await forgetFile(domain);
      }
    },

    /** Rejects with VectorError index_unavailable. */
    search: (domain: number, vector: Float32Array, k: number): Promise<Neighbour[]> =>
      byDomain.get(domain)?.index.search(vector, k) ?? Promise.resolve([]),

    /** Those whose file is missing, or has fallen behind by `changes` or by a tenth of the examples, whichever is more, or knows an older structure. */
    due(from: { examples: number; changes: number }): number[] {
      return [...byDomain].flatMap(([domain, { index, changes, savedSwaps, savedProbes }]) => {
        const row = ledger.domains().get(domain);
        if (row === undefined || row.count < from.examples) return [];
        const { swaps, probes } = index.figures();
        const older = swaps !== savedSwaps || probes !== savedProbes;
        const behind = older || changes >= Math.max(from.changes, row.count / 10);
        return behind || !row.journal ? [domain] : [];
      });
    },
    /** Begins in the pool's turn: all that was changed before is in the file. `written` ends outside of it. */
    async save(domain: number): Promise<{ written: Promise<() => Promise<void>> } | null> {
      const state = byDomain.get(domain);
      const row = ledger.domains().get(domain);
      if (state === undefined || row === undefined) return null;
      await ledger.change(() => ledger.setJournal(domain, true));
      const { store, model, sequence } = ledger.header;
      const { swaps, probes } = state.index.figures();
      const { changes } = state;
      state.changes = 0;
      const written = state.index.save(fileOf(domain), writeNote({ store, domain: row.name, model, sequence })).then(
        () => {
          Object.assign(state, { savedSwaps: swaps, savedProbes: probes });
          return () => trim(domain, sequence);
        },
        (error: unknown) => {
          state.changes += changes;
          throw error;
        },
      );
      return { written };
    },

    figures: (): { domain: string; figures: IndexFigures }[] =>
      [...byDomain].flatMap(([domain, { index }]) => {
        const name = ledger.domains().get(domain)?.name;
        return name === undefined ? [] : [{ domain: name, figures: index.figures() }];
      }),
    close: async (): Promise<void> => owner?.close(),
  };
}
