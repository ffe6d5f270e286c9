// The process of one peer.
import { existsSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { setPriority } from "node:os";
import { setImmediate as breathe } from "node:timers/promises";
import type { HierarchicalNSW } from "hnswlib-node";
import { Index as UsearchIndex, MetricKind, ScalarKind } from "usearch";
import { serveCalls } from "../../connections/worker/rpc.ts";
import { flatAddonFile, hnswlibAddonFile } from "../../tools/setup/build-native.ts";
import { ownCpuSeconds } from "../support/processes.ts";
import { dimension, readRows, row } from "./data.ts";
import { graph, type PeerKind, type PeerMethods } from "./peer-methods.ts";

interface Peer {
  /** null: it holds vectors and builds nothing worth keeping. */
  keep: { save(file: string): void; load(file: string): void } | null;
  add(first: number, rows: Float32Array): void;
  effort(ef: number): void;
  /** What search takes for a query: made outside of its time. */
  prepare(query: Float32Array): unknown;
  search(prepared: unknown, k: number): ArrayLike<number | bigint>;
}

const require = createRequire(import.meta.url);

const makers: Record<PeerKind, (n: number, kept: string) => Peer> = {
  flat: () => {
    const { Flat } = require(flatAddonFile) as {
      Flat: new (dimension: number) => {
        add(rows: Float32Array): void;
        search(query: Float32Array, k: number): { keys: Uint32Array };
      };
    };
    const index = new Flat(dimension);
    return {
      keep: null,
      add: (_, rows) => index.add(rows),
      effort: () => undefined,
      prepare: (query) => query,
      search: (query, k) => index.search(query as Float32Array, k).keys,
    };
  },
  hnswlib: (n) => {
    const addon = require(hnswlibAddonFile) as { HierarchicalNSW: typeof HierarchicalNSW };
    const index = new addon.HierarchicalNSW("ip", dimension);
    let begun = false;
    return {
      keep: { save: (file) => index.writeIndexSync(file), load: (file) => index.readIndexSync(file) },
      add(first, rows) {
        if (!begun) index.initIndex(n, graph.connectivity, graph.expansionAdd, 1);
        begun = true;
        for (let i = 0; i * dimension < rows.length; i++) index.addPoint(Array.from(row(rows, i)), first + i);
      },
      effort: (ef) => index.setEf(ef),
      prepare: (query) => Array.from(query),
      search: (query, k) => index.searchKnn(query as number[], k).neighbors,
    };
  },
  usearch: (_, kept) => {
    const open = (ef: number): UsearchIndex =>
      new UsearchIndex({
        dimensions: dimension,
        metric: MetricKind.IP,
        quantization: ScalarKind.F16,
        connectivity: graph.connectivity,
        expansion_add: graph.expansionAdd,
        expansion_search: ef,
        multi: false,
      });
    let index = open(64);
    return {
      keep: { save: (file) => index.save(file), load: (file) => index.load(file) },
      add(first, rows) {
        const keys = BigUint64Array.from({ length: rows.length / dimension }, (_, i) => BigInt(first + i));
        index.add(keys, rows, 1);
      },
      effort(ef) {
        // It takes its effort when it is opened, and only then.
        index = open(ef);
        index.load(kept);
      },
      prepare: (query) => query,
      search: (query, k) => (index.search(query as Float32Array, k, 1) as { keys: BigUint64Array }).keys,
    };
  },
};

let peer: Peer | undefined;
const loaded = (): Peer => {
  if (peer === undefined) throw new Error("load comes first");
  return peer;
};

/**
 * One process builds a file: at a million that takes long, and two would take twice as long. Fails
 * with code being_built.
 */
async function claim(kept: string): Promise<void> {
  const owner = Number(await readFile(`${kept}.pid`, "utf8").catch(() => "0"));
  if (owner > 0 && existsSync(`/proc/${owner}`))
    throw Object.assign(new Error(`process ${owner} is building ${kept}`), { code: "being_built" });
  await writeFile(`${kept}.pid`, String(process.pid));
}

serveCalls<PeerMethods>({
  async load({ kind, vectors, n, kept }, { emit }) {
    const next = makers[kind](n, kept);
    const timesFile = `${kept}.json`;
    let begun = performance.now();
    if (next.keep === null || !existsSync(kept) || !existsSync(timesFile)) {
      const cpu = ownCpuSeconds();
      if (next.keep !== null) {
        await claim(kept);
        // Others want the machine meanwhile.
        setPriority(10);
      }
      const atOnce = 1_000;
      for (let done = 0; done < n; done += atOnce) {
        next.add(done, await readRows(vectors, done, Math.min(n, done + atOnce)));
        emit(done);
        await breathe();
      }
      if (next.keep !== null) {
        const build = { seconds: (performance.now() - begun) / 1_000, cpuSeconds: ownCpuSeconds() - cpu };
        next.keep.save(`${kept}.new`);
        await rename(`${kept}.new`, kept);
        await writeFile(timesFile, JSON.stringify(build));
        await rm(`${kept}.pid`);
      }
    }
    if (next.keep !== null) {
      begun = performance.now();
      next.keep.load(kept);
    }
    peer = next;
    const build =
      next.keep === null
        ? null
        : (JSON.parse(await readFile(timesFile, "utf8")) as { seconds: number; cpuSeconds: number });
    return { pid: process.pid, build, loadSeconds: (performance.now() - begun) / 1_000 };
  },
  effort: (ef) => loaded().effort(ef),
  search({ queries, k }) {
    const { prepare, search } = loaded();
    const count = queries.length / dimension;
    const keys = new Uint32Array(count * k);
    const ms = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      const prepared = prepare(row(queries, i));
      const begun = performance.now();
      const found = search(prepared, k);
      ms[i] = performance.now() - begun;
      for (let j = 0; j < k; j++) keys[i * k + j] = Number(found[j]);
    }
    return { keys, ms };
  },
});
