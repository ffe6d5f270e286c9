// Everything about one collection of vectors: build, restore, then all indexes in turn, round by round, on the same queries.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { BenchContext } from "../benchmark.ts";
import { cpuSeconds, resident } from "../support/processes.ts";
import { quantile, significant } from "../support/statistics.ts";
import { dimension, queryCount, type VectorFiles } from "./data.ts";
import {
  buildOurs,
  changesOurs,
  exactOurs,
  k,
  restoreOurs,
  searchOurs,
  throughputOurs,
  type Searched,
} from "./ours.ts";
import { recall, startPeer, tunePeer, type Peer } from "./peers.ts";
import type { PeerKind } from "./peer-methods.ts";

export interface Plan {
  /** Queries whose true neighbours are found; recall is over them. */
  truth: number;
  rounds: number;
  /** Of one system in one round. */
  searches: number;
  /** Of an exact search in one round. */
  exactSearches: number;
  throughput: number;
}

const target = 0.95;
const graphs: readonly PeerKind[] = ["hnswlib", "usearch"];

/** A row of the results. Milliseconds, searches a second, seconds, MiB. */
export type Row = Record<string, number | string | null>;

export async function measureIndexes(
  context: BenchContext,
  name: string,
  files: VectorFiles,
  plan: Plan,
): Promise<Row> {
  const { folder, checkpoints, progress, note } = context;
  const kept = join(folder, `ours-${name}.index`);
  // Without its file the figures of a build would be of an index that is not there.
  const builtBefore = existsSync(kept);
  const build = await checkpoints.part(`${name}: build${builtBefore ? "" : ", again"}`, async () => {
    const bar = progress(`${name}: building ours`, files.n, "vectors");
    const figures = await buildOurs(files, kept, bar);
    bar.finish();
    return figures;
  });
  const closing: (() => Promise<void>)[] = [];
  try {
    note(`${name}: restoring ours, loading the peers`);
    const { indexes, index, restore_s, file_mib } = await restoreOurs(files, kept);
    closing.push(() => indexes.close());
    const exact = await exactOurs(files);
    closing.push(() => exact.indexes.close());
    const peers = new Map<PeerKind, Peer>();
    for (const kind of ["flat", ...graphs] as const) {
      const bar = progress(`${name}: ${kind} (built once, kept)`, files.n, "vectors");
      const peer = await startPeer(kind, files, { folder, name, k, bar });
      closing.push(() => peer.close());
      peers.set(kind, peer);
    }
    const count = Math.min(queryCount, files.queries.length / dimension);
    const truthCount = Math.min(plan.truth, count);
    note(`${name}: true neighbours of ${truthCount} queries`);
    const truth = await peers.get("flat")!.search(files.queries, 0, truthCount);
    for (const kind of graphs) await tunePeer(peers.get(kind)!, files.queries, truth.keys, target);

    const ms: Record<string, number[]> = { flat: truth.ms, exact: [], ours: [], hnswlib: [], usearch: [] };
    const perSecond: number[] = [];
    const cpuMs: number[] = [];
    const bar = progress(`${name}: searching`, plan.rounds, "rounds");
    await searchOurs(index, files.queries, 0, Math.min(200, count));
    for (let round = 0; round < plan.rounds; round++) {
      context.signal.throwIfAborted();
      const from = (round * plan.searches) % Math.max(1, count - plan.searches + 1);
      const to = Math.min(count, from + plan.searches);
      const cpu = cpuSeconds(indexes.pid);
      ms["ours"]!.push(...(await searchOurs(index, files.queries, from, to)).ms);
      cpuMs.push(((cpuSeconds(indexes.pid) - cpu) * 1_000) / (to - from));
      for (const kind of graphs) ms[kind]!.push(...(await peers.get(kind)!.search(files.queries, from, to)).ms);
      const some = Math.min(to, from + plan.exactSearches);
      ms["flat"]!.push(...(await peers.get("flat")!.search(files.queries, from, some)).ms);
      ms["exact"]!.push(...(await searchOurs(exact.index, files.queries, from, some)).ms);
      perSecond.push(await throughputOurs(index, files.queries, { inFlight: 64, count: plan.throughput }));
      bar.update(round + 1);
    }
    bar.finish();
    const memory = resident(indexes.pid);
    const found: Searched = await searchOurs(index, files.queries, 0, truthCount);
    const recalls: Row = { recall_at_32: significant(recall(truth.keys, found.keys)) };
    for (const kind of graphs) {
      const { keys } = await peers.get(kind)!.search(files.queries, 0, truthCount);
      recalls[`${kind}_recall_at_32`] = significant(recall(truth.keys, keys));
    }
    const { lists, probes } = index.figures();
    return {
      data: name,
      n: files.n,
      lists,
      probes,
      ...recalls,
      ...times("stage1", ms["ours"]!),
      stage1_cpu_ms: significant(quantile(cpuMs, 0.5)),
      stage1_per_s: significant(quantile(perSecond, 0.5)),
      ...times("exact", ms["flat"]!),
      ...times("exact_avx2", ms["exact"]!),
      ...times("hnswlib", ms["hnswlib"]!),
      ...times("usearch", ms["usearch"]!),
      hnswlib_ef: peers.get("hnswlib")!.effort,
      usearch_ef: peers.get("usearch")!.effort,
      ...Object.fromEntries(
        Object.entries<number>({ ...build }).map(([figure, value]) => [figure, significant(value)]),
      ),
      restore_s: significant(restore_s),
      file_mib: significant(file_mib),
      ...(await changesOurs(index, files)),
      rss_mib: significant(memory.now),
      rss_peak_mib: significant(memory.peak),
      ...Object.fromEntries(
        [...peers].map(([kind, { loaded }]) => [`${kind}_rss_mib`, significant(resident(loaded.pid).now)]),
      ),
      ...Object.fromEntries(
        graphs.map((kind) => [`${kind}_build_cpu_s`, significant(peers.get(kind)!.loaded.build!.cpuSeconds)]),
      ),
      ...Object.fromEntries(graphs.map((kind) => [`${kind}_load_s`, significant(peers.get(kind)!.loaded.loadSeconds)])),
    };
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

export const times = (name: string, ms: readonly number[]): Row => ({
  [`${name}_p50_ms`]: significant(quantile(ms, 0.5)),
  [`${name}_p99_ms`]: significant(quantile(ms, 0.99)),
});
