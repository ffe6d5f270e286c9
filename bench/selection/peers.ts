// The peers' processes, and what they are asked.
import { join } from "node:path";
import { connectWorker, type WorkerClient } from "../../connections/worker/rpc.ts";
import type { Progress } from "../../stack/progress.ts";
import { dimension, type VectorFiles } from "./data.ts";
import type { Loaded, PeerKind, PeerMethods } from "./peer-methods.ts";

export interface Peer {
  kind: PeerKind;
  loaded: Loaded;
  /** Smallest search effort that reaches the wanted recall; null for flat, which has none. */
  effort: number | null;
  search(queries: Float32Array, from: number, to: number): Promise<{ ms: number[]; keys: Uint32Array[] }>;
  setEffort(ef: number): Promise<void>;
  close(): Promise<void>;
}

/** Searches in one call. */
const atOnce = 10;

export async function startPeer(
  kind: PeerKind,
  files: VectorFiles,
  { folder, name, k, bar }: { folder: string; name: string; k: number; bar: Progress },
): Promise<Peer> {
  const worker: WorkerClient<PeerMethods> = connectWorker<PeerMethods>({
    name: kind,
    entry: new URL("./peer-worker.ts", import.meta.url),
    data: null,
    isolation: "process",
  });
  try {
    const kept = join(folder, `${kind}-${name}.index`);
    const loaded = await worker.call(
      "load",
      { kind, vectors: files.vectors, n: files.n, kept },
      { onEvent: (done) => bar.update(Number(done)) },
    );
    bar.finish();
    return {
      kind,
      loaded,
      effort: null,
      async search(queries, from, to) {
        const all = { ms: [] as number[], keys: [] as Uint32Array[] };
        for (let at = from; at < to; at += atOnce) {
          const end = Math.min(to, at + atOnce);
          const { keys, ms } = await worker.call("search", {
            queries: queries.slice(at * dimension, end * dimension),
            k,
          });
          all.ms.push(...ms);
          for (let i = 0; i < end - at; i++) all.keys.push(keys.slice(i * k, (i + 1) * k));
        }
        return all;
      },
      setEffort: (ef) => worker.call("effort", ef),
      close: () => worker.close(500),
    };
  } catch (error) {
    await worker.close(500);
    throw error;
  }
}

/** Share of the true keys that were found, over all queries. */
export function recall(truth: readonly Uint32Array[], found: readonly Uint32Array[]): number {
  let hits = 0;
  let wanted = 0;
  truth.forEach((keys, i) => {
    const of = new Set(found[i]);
    wanted += keys.length;
    for (const key of keys) if (of.has(key)) hits++;
  });
  return hits / wanted;
}

/** Sets the least effort that reaches the recall on these queries, or the most there is. */
export async function tunePeer(
  peer: Peer,
  queries: Float32Array,
  truth: readonly Uint32Array[],
  wanted: number,
): Promise<void> {
  for (const ef of [32, 48, 64, 96, 128, 192, 256, 384, 512]) {
    await peer.setEffort(ef);
    peer.effort = ef;
    const { keys } = await peer.search(queries, 0, truth.length);
    if (recall(truth, keys) >= wanted) return;
  }
}
