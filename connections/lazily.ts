// Something that is opened when it is first needed, once however many ask; after a failure the next
// who asks tries again.
export interface Lazily<T> {
  get(): Promise<T>;
  opened(): Promise<T> | undefined;
}

export function lazily<T>(open: () => Promise<T>): Lazily<T> {
  let opened: Promise<T> | undefined;
  return {
    get: () =>
      (opened ??= open().catch((error: unknown) => {
        opened = undefined;
        throw error;
      })),
    opened: () => opened,
  };
}
