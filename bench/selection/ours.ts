// Our index through its port: built from nothing under searches, saved, restored, added to. Its
// process is another, so that every time has the message to it and back in it.
import { existsSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createFaissIndexes, type FaissIndexes } from "../../state/vectors/faiss.ts";
import type { VectorIndex } from "../../state/vectors/port.ts";
import type { Progress } from "../../stack/progress.ts";
import { cpuSeconds, resident } from "../support/processes.ts";
import { quantile, significant } from "../support/statistics.ts";
import { dimension, readRows, row, rowsIn, type VectorFiles } from "./data.ts";

const addAtOnce = 5_000;
export const k = 32;

export interface BuildFigures {
  /**
   * From an empty index until the last build of clusters is over; searches went on all the time.
   */
  build_s: number;
  /** Until everything could be found. */
  load_s: number;
  build_cpu_s: number;
  /** The last build of clusters, and how often one index took the place of another. */
  last_build_s: number;
  swaps: number;
  /** Searches while clusters were built, one at a time; those across a swap; milliseconds. */
  building_p50_ms: number;
  building_p99_ms: number;
  swap_worst_ms: number;
  rss_build_peak_mib: number;
  save_s: number;
}

/** Leaves the index as a file. */
export async function buildOurs(files: VectorFiles, kept: string, bar: Progress): Promise<BuildFigures> {
  const indexes = await createFaissIndexes(dimension);
  try {
    const index = indexes.open();
    const searches = searchMeanwhile(index, files.queries);
    const began = performance.now();
    for (let done = 0; done < files.n; done += addAtOnce) {
      const rows = await readRows(files.vectors, done, Math.min(files.n, done + addAtOnce));
      await index.add(
        Uint32Array.from({ length: rows.length / dimension }, (_, i) => done + i),
        rows,
      );
      bar.update(done);
    }
    const loaded = performance.now();
    await settled(index);
    const built = performance.now();
    const { building, acrossSwaps, lastBuildMs } = await searches.stop();
    const saving = performance.now();
    await rm(kept, { force: true });
    await index.save(kept, "bench");
    return {
      build_s: (built - began) / 1_000,
      load_s: (loaded - began) / 1_000,
      build_cpu_s: cpuSeconds(indexes.pid),
      last_build_s: lastBuildMs / 1_000,
      swaps: index.figures().swaps,
      building_p50_ms: quantile(building, 0.5),
      building_p99_ms: quantile(building, 0.99),
      swap_worst_ms: Math.max(0, ...acrossSwaps),
      rss_build_peak_mib: resident(indexes.pid).peak,
      save_s: (performance.now() - saving) / 1_000,
    };
  } finally {
    await indexes.close();
  }
}

/** Until no clusters are being built, and none are about to be. */
async function settled(index: VectorIndex): Promise<void> {
  for (let quiet = 0; quiet < 5; quiet = index.figures().building ? 0 : quiet + 1) await sleep(20);
}

function searchMeanwhile(index: VectorIndex, queries: Float32Array) {
  const building: number[] = [];
  const acrossSwaps: number[] = [];
  let ended = false;
  let lastBuildMs = 0;
  let buildBegan: number | null = null;
  const loop = (async () => {
    for (let i = 0; !ended; i++) {
      const before = index.figures();
      const began = performance.now();
      await index.search(row(queries, i % rowsIn(queries)), k);
      const ms = performance.now() - began;
      const after = index.figures();
      if (after.building) buildBegan ??= began;
      else {
        if (buildBegan !== null) lastBuildMs = performance.now() - buildBegan;
        buildBegan = null;
      }
      if (before.building || after.building) building.push(ms);
      if (before.swaps !== after.swaps) acrossSwaps.push(ms);
      await sleep(2);
    }
  })();
  return {
    async stop() {
      ended = true;
      await loop;
      return { building: building.length === 0 ? [0] : building, acrossSwaps, lastBuildMs };
    },
  };
}

export interface Restored {
  indexes: FaissIndexes;
  index: VectorIndex;
  /** From the start of the process until the first search was answered. */
  restore_s: number;
  file_mib: number;
}

export async function restoreOurs(files: VectorFiles, kept: string): Promise<Restored> {
  if (!existsSync(kept)) throw new Error(`${kept} is not there: run the benchmark with --fresh`);
  const began = performance.now();
  const indexes = await createFaissIndexes(dimension);
  try {
    const { index } = await indexes.restore(kept);
    await index.search(row(files.queries, 0), k);
    const restored = performance.now() - began;
    return { indexes, index, restore_s: restored / 1_000, file_mib: (await stat(kept)).size / 2 ** 20 };
  } catch (error) {
    await indexes.close();
    throw error;
  }
}

/** Every vector compared by our own loops: what clusters save beside what AVX2 does. */
export async function exactOurs(files: VectorFiles): Promise<{ indexes: FaissIndexes; index: VectorIndex }> {
  const indexes = await createFaissIndexes(dimension, { exactLimit: files.n });
  const index = indexes.open();
  for (let done = 0; done < files.n; done += addAtOnce) {
    const rows = await readRows(files.vectors, done, Math.min(files.n, done + addAtOnce));
    await index.add(
      Uint32Array.from({ length: rows.length / dimension }, (_, i) => done + i),
      rows,
    );
  }
  return { indexes, index };
}

export interface Searched {
  ms: number[];
  keys: Uint32Array[];
}

/** Queries from..to, one after the other. */
export async function searchOurs(
  index: VectorIndex,
  queries: Float32Array,
  from: number,
  to: number,
): Promise<Searched> {
  const searched: Searched = { ms: [], keys: [] };
  for (let i = from; i < to; i++) {
    const query = row(queries, i);
    const began = performance.now();
    const found = await index.search(query, k);
    searched.ms.push(performance.now() - began);
    searched.keys.push(Uint32Array.from(found, ({ key }) => key));
  }
  return searched;
}

/** Searches a second with so many in flight. */
export async function throughputOurs(
  index: VectorIndex,
  queries: Float32Array,
  { inFlight, count }: { inFlight: number; count: number },
): Promise<number> {
  let next = 0;
  const began = performance.now();
  const lane = async (): Promise<void> => {
    while (next < count) await index.search(row(queries, next++ % rowsIn(queries)), k);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return count / ((performance.now() - began) / 1_000);
}

/**
 * Additions and removals a second, in calls of 500, to the index as it stands; it is as before
 * afterwards.
 */
export async function changesOurs(
  index: VectorIndex,
  files: VectorFiles,
): Promise<{ add_per_s: number; remove_per_s: number }> {
  const count = rowsIn(files.queries);
  const keys = Uint32Array.from({ length: count }, (_, i) => files.n + i);
  const parts = Array.from(
    { length: Math.ceil(count / 500) },
    (_, i) => [i * 500, Math.min(count, (i + 1) * 500)] as const,
  );
  const timed = async (change: (from: number, to: number) => Promise<void>): Promise<number> => {
    const began = performance.now();
    for (const [from, to] of parts) await change(from, to);
    return significant(count / ((performance.now() - began) / 1_000));
  };
  const add_per_s = await timed((from, to) =>
    index.add(keys.slice(from, to), files.queries.slice(from * dimension, to * dimension)),
  );
  const remove_per_s = await timed((from, to) => index.remove(keys.slice(from, to)));
  return { add_per_s, remove_per_s };
}
