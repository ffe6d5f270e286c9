// Indexes in FAISS, owned by one process. Searches that arrive during another share the next
// message. When the process dies calls reject with index_unavailable for good, and state/examples
// opens new ones.
import { mkdir } from "node:fs/promises";
import { dirname, resolve as absolute } from "node:path";
import pLimit from "p-limit";
import type { Logger } from "pino";
import { connectWorker, WorkerCallError, WorkerDied } from "../../connections/worker/rpc.ts";
import { checkCount, checkRows, checkVector } from "./check.ts";
import type { FaissInput, FaissMethods, WatchEvent } from "./methods.ts";
import { asNeighbours, createSearchBatches, joined } from "./search-batches.ts";
import { exactFigures, VectorError, type IndexFigures, type VectorIndex, type VectorIndexes } from "./port.ts";
import { defaultIndexOptions, type IndexOptions } from "./tuning.ts";

export interface FaissOptions extends Partial<IndexOptions> {
  log?: Logger;
}

export interface FaissIndexes extends VectorIndexes {
  readonly pid: number;
  /** What its loops are made for; "portable": any processor. */
  readonly products: "avx2" | "portable";
}

/** Vectors in one message: an addition never holds searches back for long. */
const addAtOnce = 500;
/** Such messages on their way: one is sent while one is worked on. */
const addsInFlight = 2;
/** A build may take long to notice that it should end; there is nothing to lose in the process. */
const closeMs = 500;

/** Rejects with VectorError index_unavailable where the addon was not built. */
export async function createFaissIndexes(dimension: number, options: FaissOptions = {}): Promise<FaissIndexes> {
  const { log, ...tuning } = options;
  const worker = connectWorker<FaissMethods>({
    name: "faiss",
    entry: new URL("./worker.ts", import.meta.url),
    data: { dimension, options: { ...defaultIndexOptions, ...tuning } } satisfies FaissInput,
    // A thread would save 0.1 ms a search, and a crash would take everything along.
    isolation: "process",
  });
  const figuresOf = new Map<number, IndexFigures>();
  const call: typeof worker.call = (method, argument, callOptions) =>
    worker.call(method, argument, callOptions).catch((error: unknown) => {
      if (error instanceof WorkerDied) throw new VectorError("index_unavailable", error.message);
      if (error instanceof WorkerCallError && error.code === "bad_snapshot")
        throw new VectorError("bad_snapshot", error.message);
      throw error;
    });
  const onEvent = (sent: unknown): void => {
    // The worker sends nothing else.
    const event = sent as WatchEvent;
    if (event.kind === "problem") log?.warn({ index: event.index }, `vector index: ${event.problem}`);
    else if (figuresOf.has(event.index)) figuresOf.set(event.index, event.figures);
  };
  const hello = await call("hello", null).catch(async (error: unknown) => {
    await worker.close();
    throw error;
  });
  worker.call("watch", null, { onEvent }).catch(() => undefined);
  let lastIndex = 0;

  function indexOf(index: number, figures: IndexFigures): VectorIndex {
    figuresOf.set(index, figures);
    let size = figures.size;
    let closed = false;
    const checkOpen = (): void => {
      if (closed) throw new VectorError("index_unavailable", "the index is closed");
    };
    const searches = createSearchBatches(async (vectors, k) => {
      const found = await call("search", { index, queries: joined(vectors, dimension), k });
      return vectors.map((_, query) => asNeighbours(found, query, vectors.length));
    });
    return {
      async add(keys, vectors) {
        checkOpen();
        checkRows(dimension, keys, vectors);
        const inFlight = pLimit(addsInFlight);
        await Promise.all(
          Array.from({ length: Math.ceil(keys.length / addAtOnce) }, (_, i) => {
            const [from, to] = [i * addAtOnce, (i + 1) * addAtOnce];
            return inFlight(async () => {
              // Slices: a view would take its whole buffer along into a thread.
              const part = vectors.slice(from * dimension, to * dimension);
              size = await call("add", { index, keys: keys.slice(from, to), vectors: part });
            });
          }),
        );
      },
      async remove(keys) {
        checkOpen();
        if (keys.length > 0) size = await call("remove", { index, keys });
      },
      async search(vector, k) {
        checkOpen();
        checkCount(k);
        checkVector(dimension, vector, "the query");
        return searches(vector, k);
      },
      figures: () => ({ ...(figuresOf.get(index) ?? exactFigures(0)), size }),
      async save(file, note) {
        checkOpen();
        // Another process may stand in another folder.
        const whole = absolute(file);
        await mkdir(dirname(whole), { recursive: true });
        await call("save", { index, file: whole, note });
      },
      async close() {
        if (closed) return;
        closed = true;
        figuresOf.delete(index);
        if (worker.alive) await call("drop", index);
      },
    };
  }

  return {
    kind: "faiss",
    pid: hello.pid,
    products: hello.products,
    open() {
      const index = ++lastIndex;
      // Calls arrive in order; when this one fails the process is gone, and so does every later
      // one.
      call("open", index).catch(() => undefined);
      return indexOf(index, exactFigures(0));
    },
    async restore(file) {
      const index = ++lastIndex;
      const { note, figures } = await call("restore", { index, file: absolute(file) });
      return { index: indexOf(index, figures), note };
    },
    close: () => worker.close(closeMs),
  };
}
