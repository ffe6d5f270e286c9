// Memory outside of V8's heap, in chunks that are used again: one that is left to the garbage
// collector after seconds is freed a long time later, with the next full collection.

export type Chunks = ReturnType<typeof createChunks>;

const chunkBytes = 256 * 1024;

/** Keeps as many free chunks as were given back last: what the next batch may need. */
export function createChunks() {
  let free: Buffer[] = [];
  let taken: Buffer[] = [];

  return {
    /** With room for that many bytes at least; of any content. */
    take(bytes: number): Buffer {
      if (bytes > chunkBytes) return Buffer.allocUnsafeSlow(bytes);
      const chunk = free.pop() ?? Buffer.allocUnsafeSlow(chunkBytes);
      taken.push(chunk);
      return chunk;
    },
    /** All since the last call; not read after `giveBack`. */
    handOver(): { giveBack(): void } {
      const chunks = taken;
      taken = [];
      return {
        giveBack() {
          free = [...chunks, ...free].slice(0, chunks.length);
        },
      };
    },
  };
}
