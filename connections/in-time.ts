// A wait that fails when it takes too long.

/** The work's result; rejects with `late()` after the time. A later result is ignored. */
export async function inTime<T>(milliseconds: number, work: Promise<T>, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds);
  });
  return Promise.race([work, end]).finally(() => clearTimeout(timer));
}
