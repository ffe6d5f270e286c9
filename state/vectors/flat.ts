// FAISS's flat index through the npm package faiss-node: every vector compared, in the caller's
// thread. For small pools: no process of its own, no message for a search. Its addon takes and
// gives plain arrays, so adding is slow (0.2 ms a vector of 384) and is done in portions between
// which others get their turn. Removal moves later vectors up, and so their keys.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type * as FaissNode from "faiss-node";
import pLimit from "p-limit";
import { asCosine, checkCount, checkRows, checkVector } from "./check.ts";
import { readExactFile, writeExactFile } from "./exact-file.ts";
import { exactFigures, VectorError, type VectorIndex, type VectorIndexes } from "./port.ts";

/** Built by tools/setup/build-native.ts. */
const addonFile = fileURLToPath(new URL("../../native/build/faiss-node.node", import.meta.url));
type FlatAddon = Pick<typeof FaissNode, "IndexFlatIP">;

/** Vectors added in one go: some 10 ms. */
const addAtOnce = 50;

/** Throws VectorError index_unavailable where the addon was not built. */
export function createFlatIndexes(dimension: number): VectorIndexes {
  const addon = loadAddon();
  const open = (): VectorIndex => createFlatIndex(new addon.IndexFlatIP(dimension), dimension);
  return {
    kind: "flat",
    open,
    async restore(file) {
      const { keys, vectors, note } = await readExactFile(file, dimension);
      const index = open();
      await index.add(keys, vectors);
      return { index, note };
    },
    close: async () => undefined,
  };
}

function loadAddon(): FlatAddon {
  try {
    // The package's own entry looks for a binary that its install script would have brought.
    return createRequire(import.meta.url)(addonFile) as FlatAddon;
  } catch (error) {
    throw new VectorError("index_unavailable", `faiss-node is not built here: ${String(error).split("\n")[0]}`);
  }
}

function createFlatIndex(index: FaissNode.IndexFlatIP, dimension: number): VectorIndex {
  /** Key of each position in the index, and the other way round. */
  let keys: number[] = [];
  let indexes = new Map<number, number>();
  let closed = false;
  // Changes and snapshots one after the other, each of them whole.
  const changes = pLimit(1);

  const checkOpen = (): void => {
    if (closed) throw new VectorError("index_unavailable", "the index is closed");
  };

  function drop(removed: Iterable<number>): void {
    const gone = new Set([...removed].flatMap((key) => indexes.get(key) ?? []));
    if (gone.size === 0) return;
    index.removeIds([...gone]);
    keys = keys.filter((_key, index) => !gone.has(index));
    indexes = new Map(keys.map((key, index) => [key, index]));
  }

  /**
   * Vectors as they lie in the index: the end of the file that FAISS writes. `toBuffer` would do,
   * and lose as much memory each time.
   */
  function content(beside: string): Float32Array {
    try {
      index.write(beside);
      const bytes = readFileSync(beside);
      return new Float32Array(Uint8Array.from(bytes.subarray(bytes.length - 4 * keys.length * dimension)).buffer);
    } finally {
      rmSync(beside, { force: true });
    }
  }

  return {
    async add(added, rows) {
      checkOpen();
      checkRows(dimension, added, rows);
      // The last vector of a repeated key counts.
      const rowOf = new Map(Array.from(added, (key, row) => [key, row]));
      const wanted = [...rowOf];
      await changes(async () => {
        for (let from = 0; from < wanted.length; from += addAtOnce) {
          if (from > 0) await turn();
          checkOpen();
          const part = wanted.slice(from, from + addAtOnce);
          drop(part.map(([key]) => key));
          index.add(part.flatMap(([, row]) => Array.from(rows.subarray(row * dimension, (row + 1) * dimension))));
          for (const [key] of part) indexes.set(key, keys.push(key) - 1);
        }
      });
    },
    async remove(removed) {
      checkOpen();
      await changes(() => drop(removed));
    },
    async search(vector, k) {
      checkOpen();
      checkCount(k);
      checkVector(dimension, vector, "the query");
      const count = Math.min(k, keys.length);
      if (count === 0) return [];
      const { labels, distances } = index.search(Array.from(vector), count);
      return labels.map((index, i) => ({ key: keys[index]!, similarity: asCosine(distances[i]!) }));
    },
    figures: () => exactFigures(keys.length),
    async save(file, note) {
      checkOpen();
      await changes(async () => {
        checkOpen();
        mkdirSync(dirname(file), { recursive: true });
        const vectors = keys.length === 0 ? new Float32Array(0) : content(`${file}.${process.pid}.faiss.tmp`);
        await writeExactFile(file, { dimension, note, keys: Uint32Array.from(keys), vectors });
      });
    },
    async close() {
      closed = true;
      keys = [];
      indexes.clear();
    },
  };
}
