// Waits for what comes bit by bit. How long the whole takes is a matter of the machine; that it
// comes to a standstill is the failure.

export interface Progress {
  done: boolean;
  /** Grows with every bit. */
  reached: number;
  /** What is still missing, for the error. */
  missing?: string;
}

/**
 * Resolves when all is done. Rejects when nothing has come for `stillMs`, or when it is not done
 * after `atMostMs`. A look that fails has seen nothing, and is the error's cause.
 */
export async function whileProgressing(
  what: string,
  look: () => Promise<Progress>,
  { stillMs, atMostMs }: { stillMs: number; atMostMs: number },
): Promise<void> {
  const end = Date.now() + atMostMs;
  let newsAt = Date.now();
  let furthest = -Infinity;
  let missing = "never seen";
  let cause: unknown;
  while (Date.now() < Math.min(end, newsAt + stillMs)) {
    try {
      const seen = await look();
      if (seen.done) return;
      missing = seen.missing ?? `${seen.reached} so far`;
      if (seen.reached > furthest) {
        furthest = seen.reached;
        newsAt = Date.now();
      }
    } catch (error) {
      cause = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const why = Date.now() < end ? `nothing has come for ${stillMs} ms` : `not within ${atMostMs} ms`;
  throw new Error(`${what}: ${why}: ${missing}`, { cause });
}
