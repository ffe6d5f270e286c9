// What was thrown may be anything: its message, it as an Error, and what it says.

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const errorOf = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Whether a file or folder is not there. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

/** Whether the work resolves; why it does not is no matter. */
export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );
