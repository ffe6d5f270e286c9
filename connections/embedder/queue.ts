// Texts that wait: of requests, and of the background, which gets idle time and one batch in
// sixteen, small ones while requests come. A batch: the oldest and its neighbours in length.

export interface Waiting {
  /** For the model, counted or guessed. */
  length: number;
  background: boolean;
}

export interface EmbedQueue<T extends Waiting> {
  add(item: T): void;
  /** False when it had been taken already. */
  remove(item: T): boolean;
  /** At most maxBatch; empty: nothing waits. */
  next(): T[];
  waiting(): { requests: number; background: number };
  clear(): T[];
}

/** The oldest goes with its neighbours in length among so many batches. */
const windowBatches = 8;
const backgroundTurn = 16;

export function createEmbedQueue<T extends Waiting>(maxBatch: number): EmbedQueue<T> {
  let requests: T[] = [];
  let background: T[] = [];
  let batches = 0;
  /** Number of the last batch that was for requests. */
  let lastRequests = -Infinity;

  function take(from: T[], atMost: number): T[] {
    const oldest = from[0];
    if (oldest === undefined) return [];
    const window = from.slice(0, windowBatches * maxBatch).sort((a, b) => a.length - b.length);
    const at = window.indexOf(oldest);
    const size = Math.min(atMost, window.length);
    const spread = (start: number): number => (window[start + size - 1]?.length ?? 0) - (window[start]?.length ?? 0);
    let start = Math.max(0, at - size + 1);
    for (let other = start + 1; other <= at && other + size <= window.length; other++)
      if (spread(other) < spread(start)) start = other;
    return window.slice(start, start + size);
  }
  function without(items: T[], taken: readonly T[]): T[] {
    const gone = new Set(taken);
    return items.filter((item) => !gone.has(item));
  }

  return {
    add: (item) => void (item.background ? background : requests).push(item),
    remove(item) {
      const before = requests.length + background.length;
      requests = without(requests, [item]);
      background = without(background, [item]);
      return requests.length + background.length < before;
    },
    next() {
      batches++;
      const isBackgrounds = background.length > 0 && (requests.length === 0 || batches % backgroundTurn === 0);
      if (isBackgrounds) {
        const isBusy = batches - lastRequests <= backgroundTurn;
        const batch = take(background, isBusy ? Math.max(1, Math.floor(maxBatch / 4)) : maxBatch);
        background = without(background, batch);
        return batch;
      }
      const batch = take(requests, maxBatch);
      requests = without(requests, batch);
      lastRequests = batches;
      return batch;
    },
    waiting: () => ({ requests: requests.length, background: background.length }),
    clear() {
      const all = [...requests, ...background];
      [requests, background] = [[], []];
      return all;
    },
  };
}
