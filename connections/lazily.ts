// Something that is opened once, when first needed; after a failure the next asker tries again.
export type Lazily<T> = ReturnType<typeof lazily<T>>;

export function lazily<T>(open: () => Promise<T>) {
  let opened: Promise<T> | undefined;
  return {
    get: (): Promise<T> =>
      (opened ??= open().catch((error: unknown) => {
        opened = undefined;
        throw error;
      })),
    opened: (): Promise<T> | undefined => opened,
  };
}
