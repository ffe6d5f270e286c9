// A bound for goodbyes: without a broker kafkajs can take minutes to disconnect.

/** Resolves when the promise settles, or after the time; a later result is ignored. */
export function within(milliseconds: number, promise: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    const settled = (): void => {
      clearTimeout(timer);
      resolve();
    };
    promise.then(settled, settled);
  });
}
