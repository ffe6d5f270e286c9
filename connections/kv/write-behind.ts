// Writes blobs to the slow tier one after the other. Bounded: what does not fit is not written; a
// failing disk costs the slow tier, never an answer.

/** `mostBytes` may wait; one blob may always, whatever its size. */
export function createWriteBehind(mostBytes: number, onFailure: (error: unknown) => void) {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  return {
    /** false: the queue is full, and it will not be written. */
    add(bytes: number, write: () => Promise<void>): boolean {
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
    flush: (): Promise<void> => last,
  };
}
