// One vector index a domain (docs/examples.md): follows the ledger, restored from file and journal
// or built from the store, again when its owner dies. In the pool's turn, but for search() and
// figures().
import type { Logger } from "pino";
import {
  VectorError,
  type IndexFigures,
  type Neighbour,
  type VectorIndex,
  type VectorIndexes,
} from "../vectors/port.ts";
import { createDomainFiles, entriesOf, rangeOf, type Entry } from "./domain-files.ts";
import type { Layout } from "./layout.ts";
import type { Ledger } from "./ledger.ts";
import { decodeVector, keyOf } from "./records.ts";
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

export const isLost = (error: unknown): boolean => error instanceof VectorError && error.code === "index_unavailable";

export function createDomainIndexes({ layout, ledger, folder, openIndexes, onDamaged, log }: DomainIndexesOptions) {
  const { vectors } = layout;
  const files = createDomainFiles(layout, ledger, folder);
  const { dimension } = ledger.header;
  let owner: VectorIndexes | null = null;
  let byDomain = new Map<number, DomainIndex>();

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
    for await (const entries of entriesOf(vectors, domain)) await add(domain, entries);
  }
  async function add(domain: number, entries: readonly Entry[]): Promise<void> {
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

  /** From its file and the journal; false: impossible, and the file is gone. */
  async function restore(domain: number, name: string, from: VectorIndexes): Promise<boolean> {
    try {
      const { index, sequence } = await files.read(domain, name, from);
      const { swaps, probes } = index.figures();
      byDomain.set(domain, { index, changes: 0, savedSwaps: swaps, savedProbes: probes });
      for await (const { gone, come } of files.changedSince(domain, sequence)) {
        if (gone.length > 0) await held(domain).index.remove(Uint32Array.from(gone));
        await add(domain, come);
        held(domain).changes += gone.length + come.length;
      }
      const expected = vectors.getKeysCount(rangeOf(domain));
      if (index.figures().size === expected) return true;
      await index.close();
      throw new VectorError("bad_snapshot", `it has ${index.figures().size} vectors, expected ${expected}`);
    } catch (error) {
      if (!(error instanceof VectorError) || isLost(error)) throw error;
      log.warn(
        { file: files.fileOf(domain), domain: name, reason: error.message },
        "the file of a vector index is refused: building it anew",
      );
      byDomain.delete(domain);
      await files.forget(domain);
      return false;
    }
  }

  return {
    /** All of them, as the store says. Rejects with VectorError index_unavailable. */
    async open(): Promise<void> {
      byDomain = new Map();
      await owner?.close();
      owner = null;
      owner = await openIndexes();
      await files.sweep();
      for (const [domain, { name, journal: hasFile }] of ledger.domains())
        if (!hasFile || !(await restore(domain, name, owner))) await build(domain);
    },

    async follow(touched: Touched): Promise<void> {
      await Promise.all([...touched].map(([domain, keys]) => change(domain, keys)));
      for (const domain of touched.keys()) {
        const state = byDomain.get(domain);
        if (state === undefined || state.index.figures().size > 0) continue;
        byDomain.delete(domain);
        await state.index.close();
        if (ledger.domains().get(domain)?.journal !== false) await files.forget(domain);
      }
    },

    /** Rejects with VectorError index_unavailable. */
    search: (domain: number, vector: Float32Array, k: number): Promise<Neighbour[]> =>
      byDomain.get(domain)?.index.search(vector, k) ?? Promise.resolve([]),

    /** Domains whose file is missing, old, or behind by `changes` or a tenth. */
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
    /** Begins in the pool's turn: all earlier changes are in the file. */
    async save(domain: number): Promise<{ written: Promise<() => Promise<void>> } | null> {
      const state = byDomain.get(domain);
      const row = ledger.domains().get(domain);
      if (state === undefined || row === undefined) return null;
      await ledger.change(() => ledger.setJournal(domain, true));
      const { sequence } = ledger.header;
      const { swaps, probes } = state.index.figures();
      const { changes } = state;
      state.changes = 0;
      const written = files.write(domain, row.name, state.index).then(
        () => {
          Object.assign(state, { savedSwaps: swaps, savedProbes: probes });
          return () => files.trim(domain, sequence);
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
