// bench -- selection --only milvus: examples in milvus-lite (PyPI), written by curate's sink and
// searched as plan does, beside the bare call of the collection on the same queries, and exact
// search in this thread for recall. milvus-lite is one Python process: it says what our side costs,
// not what a Milvus cluster does.
import { exampleId, sharingDomain } from "../../algorithms/identity/identity.ts";
import { embeddingToBytes } from "../../algorithms/selection/embedding.ts";
import { openMilvus } from "../../connections/milvus/collection.ts";
import type { MilvusCollection } from "../../connections/milvus/port.ts";
import { startLite } from "../../connections/milvus/lite.testing.ts";
import { createLog } from "../../runtime/log.ts";
import { plainExample } from "../../schemas/example.testing.ts";
import { createRemotePool, type RemotePool } from "../../state/examples/remote/pool.ts";
import { groupOf } from "../../state/examples/remote/rows.ts";
import { openSink } from "../../state/examples/remote/sink.ts";
import { createExactIndexes } from "../../state/vectors/exact.ts";
import type { BenchContext, Measured } from "../benchmark.ts";
import { cpuSeconds, ownCpuSeconds, resident } from "../support/processes.ts";
import { mean, quantile, significant } from "../support/statistics.ts";
import { dimension, generatedVectors, readRows, row, rowsIn } from "./data.ts";
import { k } from "./ours.ts";

const domain = sharingDomain("default", null);
const atOnce = 1_000;
const log = createLog({ level: "error" });
const topic = { topic: "examples", cluster: "bench", topicId: "bench" };
const embedder = { model: "generated", dimension, embedAll: () => Promise.reject(new Error("nothing to embed")) };
/** Longer than plan allows, so that every search is measured. */
const limitMs = 120_000;

export async function runMilvus(context: BenchContext): Promise<Measured> {
  const { quick, progress, signal, note } = context;
  const lite = await startLite();
  if ("reason" in lite) throw new Error(lite.reason);
  const n = quick ? 10_000 : 100_000;
  const files = await generatedVectors(context, n);
  const collection = openMilvus({ address: lite.address, token: "", database: "default", collection: "bench", timeoutMs: limitMs }); // prettier-ignore
  try {
    const spans = [{ partition: 0, beginning: 0, end: n }];
    const sink = await openSink({ ...{ collection, embedder, topic, spans, clock: Date.now, log } });
    const exact = createExactIndexes(dimension).open();
    const texts = ["list all files", "ls -la"].map((text) => text.padEnd(300, "."));
    const bar = progress("writing to milvus-lite", n, "examples");
    let [began, cpu] = [performance.now(), ownCpuSeconds()];
    for (let done = 0; done < n; done += atOnce) {
      signal.throwIfAborted();
      const rows = await readRows(files.vectors, done, Math.min(n, done + atOnce));
      const examples = Array.from({ length: rows.length / dimension }, (_, i) => {
        const request = `${texts[0]} (${done + i})`;
        const id = exampleId(domain, request, texts[1]!);
        const embedding = embeddingToBytes(row(rows, i));
        return plainExample({ id, domain, tenant: "default", request, response: texts[1]!, embedding, embeddingModel: "generated" }); // prettier-ignore
      });
      const changes = examples.map((value) => ({ key: `${domain}/${value.id}`, value }));
      await sink.apply(0, changes, done + examples.length);
      await exact.add(
        Uint32Array.from(examples, (_, i) => done + i),
        rows,
      );
      bar.update(done);
    }
    bar.finish();
    const [fill_s, fill_cpu_s] = [(performance.now() - began) / 1_000, ownCpuSeconds() - cpu];
    sink.filled(0);
    await sink.save();

    const pool = createRemotePool({ collection, embedder, topic, clock: Date.now, log, limitMs });
    await pool.look({ follow: () => Promise.resolve() });
    await pool.ready;
    const searches = Math.min(quick ? 20 : 12, rowsIn(files.queries));
    const bare = { group: groupOf(domain), generation: sink.generation(), k };
    const ms: Record<"bare" | "cold" | "popular", number[]> = { bare: [], cold: [], popular: [] };
    const cpuMs: typeof ms = { bare: [], cold: [], popular: [] };
    const recalls: number[] = [];
    const hits: Awaited<ReturnType<typeof collection.search>>[] = [];
    const take = async <T>(kind: keyof typeof ms, work: () => Promise<T>): Promise<T> => {
      [began, cpu] = [performance.now(), ownCpuSeconds()];
      const result = await work();
      ms[kind].push(performance.now() - began);
      cpuMs[kind].push(1_000 * (ownCpuSeconds() - cpu));
      return result;
    };
    const served = cpuSeconds(lite.pid());
    const searching = progress("searches", searches, "queries");
    for (let i = 0; i < searches; i++) {
      signal.throwIfAborted();
      const vector = row(files.queries, i);
      await take("bare", () => collection.search({ ...bare, vector, now: Date.now() }, { timeoutMs: limitMs }));
      // Candidates that no earlier search found are read; then all are in memory.
      const found = await take("cold", () => pool.nearest(domain, vector, k, Date.now()));
      await take("popular", () => pool.nearest(domain, vector, k, Date.now()));
      hits.push(await collection.search({ ...bare, vector, now: Date.now() }, { timeoutMs: limitMs }));
      const truth = new Set((await exact.search(vector, k)).map(({ key }) => key));
      const numbers = found.map(({ example }) => Number(/\((\d+)\)$/.exec(example.request)?.[1]));
      recalls.push(numbers.filter((number) => truth.has(number)).length / truth.size);
      searching.update(i);
    }
    searching.finish();
    const own = await measureOwn(pool, collection, hits, (i) => row(files.queries, i));
    const of = (kind: keyof typeof ms): Record<string, number> => ({
      [`${kind}_p50_ms`]: significant(quantile(ms[kind], 0.5)),
      [`${kind}_p99_ms`]: significant(quantile(ms[kind], 0.99)),
      [`${kind}_cpu_ms`]: significant(mean(cpuMs[kind])),
    });
    note("milvus-lite is one Python process: a cluster's own latencies are not measured here");
    return {
      part: "milvus",
      figures: {
        ...{ n, dimension, k, searches, engine: "milvus-lite 3.2.2" },
        ...{ ...of("bare"), ...of("cold"), ...of("popular") },
        ...own,
        engine_cpu_ms: significant((1_000 * (cpuSeconds(lite.pid()) - served)) / (4 * searches)),
        recall_at_32: significant(mean(recalls)),
        written_per_s: significant(n / fill_s),
        written_cpu_ms: significant((1_000 * fill_cpu_s) / n),
        engine_rss_mib: significant(resident(lite.pid()).now),
      },
    };
  } finally {
    await collection.close();
    await lite.stop();
  }
}

/** What is ours of a search: the same answers of the engine, given at once. */
async function measureOwn(
  pool: RemotePool,
  collection: MilvusCollection,
  hits: readonly { key: string; stamp: number }[][],
  query: (i: number) => Float32Array,
): Promise<Record<string, number>> {
  const { search } = collection;
  let at = 0;
  collection.search = () => Promise.resolve(hits[at]!);
  try {
    const ms: number[] = [];
    let cpu = 0;
    for (let i = -warmUp; i < ownSearches; i++) {
      if (i === 0) cpu = ownCpuSeconds();
      at = (i + warmUp) % hits.length;
      const vector = query(at);
      const began = performance.now();
      await pool.nearest(domain, vector, k, Date.now());
      if (i >= 0) ms.push(performance.now() - began);
    }
    cpu = ownCpuSeconds() - cpu;
    return { own_p50_ms: significant(quantile(ms, 0.5)), own_cpu_ms: significant((1_000 * cpu) / ownSearches) };
  } finally {
    collection.search = search;
  }
}
const warmUp = 500;
const ownSearches = 5_000;
