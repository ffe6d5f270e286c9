// Texts that wait: of requests, and of the background, which gets idle time and one batch in
// sixteen, small ones while requests come. The oldest go first.

const backgroundTurn = 16;

export function createEmbedQueue<T extends { background: boolean }>(maxBatch: number) {
  let requests: T[] = [];
  let background: T[] = [];
  let batches = 0;
  /** Number of the last batch that was for requests. */
  let lastRequests = -Infinity;

  return {
    add: (item: T): void => void (item.background ? background : requests).push(item),
    /** False when it had been taken already. */
    remove(item: T): boolean {
      const before = requests.length + background.length;
      requests = requests.filter((other) => other !== item);
      background = background.filter((other) => other !== item);
      return requests.length + background.length < before;
    },
    /** At most maxBatch; empty: nothing waits. */
    next(): T[] {
      batches++;
      const isBackgrounds = background.length > 0 && (requests.length === 0 || batches % backgroundTurn === 0);
      if (isBackgrounds) {
        const isBusy = batches - lastRequests <= backgroundTurn;
        return background.splice(0, isBusy ? Math.max(1, Math.floor(maxBatch / 4)) : maxBatch);
      }
      lastRequests = batches;
      return requests.splice(0, maxBatch);
    },
    waiting: (): { requests: number; background: number } => ({
      requests: requests.length,
      background: background.length,
    }),
    clear(): T[] {
      const all = [...requests, ...background];
      [requests, background] = [[], []];
      return all;
    },
  };
}
