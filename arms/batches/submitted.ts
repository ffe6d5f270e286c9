// Which lines are in the arm's batches at the provider, 8 bytes a line. It reads the provider's
// list, so every process knows what others have submitted.
import type { Provider, ProviderBatch } from "./port.ts";

export interface Submitted {
  /** Reads batches that other processes created since the last call. Rejects as Provider does. */
  refresh(): Promise<void>;
  add(batch: ProviderBatch, ids: readonly string[]): void;
  /** It was never created. */
  remove(batchId: string): void;
  /** The oldest batch that has the line, and how many lines it has. */
  find(id: string): { batch: ProviderBatch; lines: number } | undefined;
}

/** No line waits for longer than a day; clocks differ. */
const rememberedMs = 26 * 3_600_000;

interface Known {
  batch: ProviderBatch;
  /** Sorted. */
  ids: BigUint64Array;
}

export function createSubmitted(provider: Pick<Provider, "list" | "lines">, clock: () => number): Submitted {
  const known = new Map<string, Known>();
  const add: Submitted["add"] = (batch, ids) =>
    void known.set(batch.id, { batch, ids: BigUint64Array.from(ids, shortId).sort() });
  return {
    add,
    remove: (batchId) => void known.delete(batchId),
    async refresh() {
      const since = clock() - rememberedMs;
      for (const [id, { batch }] of known) if (batch.createdAt < since) known.delete(id);
      for (const batch of await provider.list(since)) {
        if (known.has(batch.id)) continue;
        const ids: string[] = [];
        for await (const id of provider.lines(batch)) ids.push(id);
        add(batch, ids);
      }
    },
    find(id) {
      const short = shortId(id);
      const found = [...known.values()].filter(({ ids }) => has(ids, short));
      const [first] = found.sort((a, b) => a.batch.createdAt - b.batch.createdAt);
      return first && { batch: first.batch, lines: first.ids.length };
    },
  };
}

/** Our ids begin with 64 bits of a hash in hexadecimal; all others become 0. */
const shortId = (id: string): bigint => (/^[0-9a-f]{16}/.test(id) ? BigInt(`0x${id.slice(0, 16)}`) : 0n);

function has(sorted: BigUint64Array, wanted: bigint): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === wanted;
}
