// The pool in memory: examples by id, and one vector index a sharing domain, so that a search can't even see another domain.
// Changes run one after the other. When the indexes' owner dies they are built anew from the examples; until then nearest() rejects
// with VectorError index_unavailable and changes wait.
import type { Logger } from "pino";
import type { Example } from "../../schemas/types.ts";
import { VectorError, type VectorIndex, type VectorIndexes } from "../vectors/port.ts";
import { embeddingFromBytes } from "../../algorithms/embedding.ts";
import type { Candidate, ExamplePool } from "./port.ts";

export interface MemoryPoolOptions {
  /** Whose vectors the pool holds; the Embedder itself will do. */
  embedder: { model: string; dimension: number };
  /** Called at the start, and again when the owner of the indexes died. */
  openIndexes: () => Promise<VectorIndexes>;
  log: Logger;
  /** Milliseconds between attempts to rebuild, doubling from first to last. Default 100 and 10,000. */
  pause?: { first: number; last: number };
}

interface Entry {
  example: Example;
  vector: Float32Array;
}

export async function createMemoryPool(options: MemoryPoolOptions): Promise<ExamplePool> {
  const { embedder, openIndexes, log, pause = { first: 100, last: 10_000 } } = options;
  const held = new Map<string, Example>();
  let indexes = await openIndexes();
  let byDomain = new Map<string, VectorIndex>();
  let changes: Promise<unknown> = Promise.resolve();
  let rebuilding = false;
  const closing = new AbortController();

  const isLost = (error: unknown): boolean => error instanceof VectorError && error.code === "index_unavailable";
  const inTurn = <T>(change: () => Promise<T>): Promise<T> => {
    const result = changes.then(change);
    changes = result.catch(() => undefined);
    return result;
  };
  const indexOf = (domain: string): VectorIndex => {
    let index = byDomain.get(domain);
    if (index === undefined) byDomain.set(domain, (index = indexes.open()));
    return index;
  };

  /** What the examples say, into new indexes; tried again until it works or the pool is closed. */
  async function rebuild(): Promise<void> {
    rebuilding = true;
    for (let failures = 0; !closing.signal.aborted; failures++) {
      try {
        await indexes.close();
        indexes = await openIndexes();
        byDomain = new Map();
        for (const [domain, entries] of groupByDomain(entriesOf(held.values(), embedder.dimension)))
          await indexOf(domain).add(entries);
        log.info({ examples: held.size, domains: byDomain.size }, "vector indexes rebuilt");
        break;
      } catch (error) {
        const wait = Math.min(pause.last, pause.first * 2 ** Math.min(failures, 20));
        log.error({ err: error, retryInMs: wait }, "vector indexes can't be rebuilt");
        await sleep(wait, closing.signal);
      }
    }
    rebuilding = false;
  }
  /** The examples are right already; only the indexes have to follow. */
  const repair = async (change: () => Promise<void>): Promise<void> => {
    try {
      await change();
    } catch (error) {
      if (!isLost(error) || closing.signal.aborted) throw error;
      await rebuild();
    }
  };
  const drop = async (domain: string, ids: readonly string[]): Promise<void> => {
    const index = byDomain.get(domain);
    if (index === undefined) return;
    await index.remove(ids);
    if (index.size() > 0) return;
    byDomain.delete(domain);
    await index.close();
  };

  return {
    upsert: (examples) =>
      inTurn(async () => {
        const refused: { id: string; reason: string }[] = [];
        const accepted: Entry[] = [];
        for (const example of examples) {
          const vector = accept(example, embedder, held.get(example.id));
          if ("reason" in vector) refused.push({ id: example.id, reason: vector.reason });
          else {
            // Held here and now, so that the same id twice in one call is checked against its first.
            held.set(example.id, example);
            accepted.push({ example, vector });
          }
        }
        await repair(async () => {
          for (const [domain, entries] of groupByDomain(accepted)) await indexOf(domain).add(entries);
        });
        return refused;
      }),
    remove: (ids) =>
      inTurn(async () => {
        const gone = new Map<string, string[]>();
        for (const id of ids) {
          const domain = held.get(id)?.domain;
          if (domain === undefined) continue;
          held.delete(id);
          const others = gone.get(domain);
          if (others === undefined) gone.set(domain, [id]);
          else others.push(id);
        }
        await repair(async () => {
          for (const [domain, goneIds] of gone) await drop(domain, goneIds);
        });
      }),
    async nearest(domain, vector, k, now) {
      if (rebuilding) throw new VectorError("index_unavailable", "the vector indexes are being rebuilt");
      const index = byDomain.get(domain);
      if (index === undefined) return [];
      try {
        // Expired examples stand in the index until they are evicted: ask for more until k are left, or there are no more.
        for (let asked = k; ; asked *= 2) {
          const found = await index.search(vector, asked);
          const alive = found.flatMap(({ id, similarity }): Candidate[] => {
            const example = held.get(id);
            const visible = example?.domain === domain && (example.expiresAt === null || example.expiresAt > now);
            return visible ? [{ example, similarity }] : [];
          });
          if (alive.length >= k || found.length < asked) return alive.slice(0, k);
        }
      } catch (error) {
        // Nobody may have changed anything since: the search itself sets the rebuilding off.
        if (isLost(error) && !rebuilding && !closing.signal.aborted) {
          rebuilding = true;
          void inTurn(rebuild);
        }
        throw error;
      }
    },
    get: (id) => held.get(id),
    size: () => held.size,
    async close() {
      closing.abort();
      await changes;
      await indexes.close();
    },
  };
}

/** The example's vector, or why the pool can't hold it. */
function accept(
  example: Example,
  embedder: { model: string; dimension: number },
  known: Example | undefined,
): Float32Array | { reason: string } {
  if (!example.domain.startsWith(`${example.tenant}/`))
    return { reason: `its domain ${example.domain} is not one of its tenant ${example.tenant}` };
  if (known !== undefined && known.domain !== example.domain)
    return { reason: `its id belongs to an example of another domain` };
  if (example.embeddingModel !== embedder.model)
    return { reason: `it was embedded with ${example.embeddingModel}, this pool holds ${embedder.model}` };
  return embeddingFromBytes(example.embedding, embedder.dimension);
}

function* entriesOf(examples: Iterable<Example>, dimension: number): Generator<Entry> {
  for (const example of examples) {
    const vector = embeddingFromBytes(example.embedding, dimension);
    if (vector instanceof Float32Array) yield { example, vector };
  }
}

function groupByDomain(entries: Iterable<Entry>): Map<string, { id: string; vector: Float32Array }[]> {
  const groups = new Map<string, { id: string; vector: Float32Array }[]>();
  for (const { example, vector } of entries) {
    const group = groups.get(example.domain);
    if (group === undefined) groups.set(example.domain, [{ id: example.id, vector }]);
    else group.push({ id: example.id, vector });
  }
  return groups;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
