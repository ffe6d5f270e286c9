// Something that is opened once, when first needed; after a failure the next asker tries again.
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
