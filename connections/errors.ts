// What was thrown may be anything: its message, it as an Error, what it says, and that it came.

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const errorOf = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Of a file or folder that is not there. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

/** Whether the work resolves; why it does not is no matter. */
export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );
