// Writes blobs to the slow tier one after the other. Bounded: what does not fit is not written; a
// failing disk costs the slow tier, never an answer.

export interface WriteBehind {
  /** false: the queue is full, and it will not be written. */
  add(bytes: number, write: () => Promise<void>): boolean;
  flush(): Promise<void>;
}

/** `mostBytes` may wait; one blob may always, whatever its size. */
export function createWriteBehind(mostBytes: number, onFailure: (error: unknown) => void): WriteBehind {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  return {
    add(bytes, write) {
      if (waiting > 0 && waiting + bytes > mostBytes) return false;
      waiting += bytes;
      last = last
        .then(write)
        .catch(onFailure)
        .finally(() => {
          waiting -= bytes;
        });
      return true;
    },
    flush: () => last,
  };
}
