// What was thrown may be anything: its message, and it as an Error.

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const errorOf = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
