// Everything about one collection of vectors: build, restore, then all indexes in turn, round by
// round, on the same queries.
import { join } from "node:path";
import { WorkerCallError } from "../../connections/worker/rpc.ts";
import type { BenchContext } from "../benchmark.ts";
import { cpuSeconds, resident } from "../support/processes.ts";
import { quantile, significant } from "../support/statistics.ts";
import { rowsIn, type VectorFiles } from "./data.ts";
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
  /** Searches of one system in one round. */
  searches: number;
  /** Exact searches in one round. */
  exactSearches: number;
  throughput: number;
  /** Requests through both stages, and to the pool alone. */
  both: number;
}

const target = 0.95;
const graphs = ["hnswlib", "usearch"] as const satisfies readonly PeerKind[];
type Graph = (typeof graphs)[number];

/** A row of the results. Milliseconds, searches a second, seconds, MiB. */
export type Row = Record<string, number | string | null>;

export async function measureIndexes(
  context: BenchContext,
  name: string,
  files: VectorFiles,
  plan: Plan,
): Promise<{ row: Row; reasons: Record<string, string> }> {
  const reasons: Record<string, string> = {};
  const { folder, checkpoints, progress, note } = context;
  const kept = join(folder, `ours-${name}.index`);
  const build = await checkpoints.part(`${name}: build`, async () => {
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
    const start = async (kind: PeerKind): Promise<Peer> => {
      const bar = progress(`${name}: ${kind} (built once, kept)`, files.n, "vectors");
      const peer = await startPeer(kind, files, { folder, name, k, bar });
      closing.push(() => peer.close());
      return peer;
    };
    const flat = await start("flat");
    const peers = new Map<Graph, Peer>();
    for (const kind of graphs) {
      if (context.only === "ours") {
        reasons[kind] = "left out: --only ours (recorded_peers are of another run)";
        continue;
      }
      try {
        peers.set(kind, await start(kind));
      } catch (error) {
        if (!(error instanceof WorkerCallError && error.code === "being_built")) throw error;
        reasons[kind] = error.message;
        note(`${name}: no ${kind}: ${error.message}`);
      }
    }
    const count = rowsIn(files.queries);
    const truthCount = Math.min(plan.truth, count);
    note(`${name}: true neighbours of ${truthCount} queries`);
    const truth = await flat.search(files.queries, 0, truthCount);
    for (const peer of peers.values()) await tunePeer(peer, files.queries, truth.keys, target);

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
      for (const [kind, peer] of peers) ms[kind]!.push(...(await peer.search(files.queries, from, to)).ms);
      const some = Math.min(to, from + plan.exactSearches);
      ms["flat"]!.push(...(await flat.search(files.queries, from, some)).ms);
      ms["exact"]!.push(...(await searchOurs(exact.index, files.queries, from, some)).ms);
      perSecond.push(await throughputOurs(index, files.queries, { inFlight: 64, count: plan.throughput }));
      bar.update(round + 1);
    }
    bar.finish();
    const memory = resident(indexes.pid);
    const found: Searched = await searchOurs(index, files.queries, 0, truthCount);
    const graphRows: Row = {};
    for (const kind of graphs)
      Object.assign(graphRows, await graphRow(kind, peers.get(kind), ms[kind]!, files, truth.keys));
    const { lists, probes } = index.figures();
    const row: Row = {
      data: name,
      n: files.n,
      lists,
      probes,
      recall_at_32: significant(recall(truth.keys, found.keys)),
      ...times("stage1", ms["ours"]!),
      stage1_cpu_ms: significant(quantile(cpuMs, 0.5)),
      stage1_per_s: significant(quantile(perSecond, 0.5)),
      ...times("exact", ms["flat"]!),
      ...times("exact_avx2", ms["exact"]!),
      ...graphRows,
      ...Object.fromEntries(
        Object.entries<number>({ ...build }).map(([figure, value]) => [figure, significant(value)]),
      ),
      restore_s: significant(restore_s),
      file_mib: significant(file_mib),
      ...(await changesOurs(index, files)),
      rss_mib: significant(memory.now),
      rss_peak_mib: significant(memory.peak),
      flat_rss_mib: significant(resident(flat.loaded.pid).now),
    };
    return { row, reasons };
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** null throughout where it is not there; reasons say why. */
async function graphRow(
  kind: Graph,
  peer: Peer | undefined,
  ms: readonly number[],
  { queries }: VectorFiles,
  truth: readonly Uint32Array[],
): Promise<Row> {
  const named = (figures: Row): Row =>
    Object.fromEntries(Object.entries(figures).map(([figure, value]) => [`${kind}_${figure}`, value]));
  if (peer === undefined) return named({ p50_ms: null, p99_ms: null, recall_at_32: null });
  const { keys } = await peer.search(queries, 0, truth.length);
  const { pid, build, loadSeconds } = peer.loaded;
  return {
    ...times(kind, ms),
    ...named({
      recall_at_32: significant(recall(truth, keys)),
      ef: peer.effort,
      build_cpu_s: build === null ? null : significant(build.cpuSeconds),
      load_s: significant(loadSeconds),
      rss_mib: significant(resident(pid).now),
    }),
  };
}

const times = (name: string, ms: readonly number[]): Row => ({
  [`${name}_p50_ms`]: significant(quantile(ms, 0.5)),
  [`${name}_p99_ms`]: significant(quantile(ms, 0.99)),
});
