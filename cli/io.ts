// A command's access to the outside, so that tests can run commands and read their output.
import { printable } from "../algorithms/text/printable.ts";

export interface Io {
  /** The result of a command. */
  out(text: string): void;
  /** A result for other programs, as it is. Resolves when more may be written. */
  data(bytes: Uint8Array): Promise<void>;
  /** Everything else: progress, warnings, errors. */
  note(text: string): void;
  environment: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Aborted by Ctrl-C and SIGTERM. */
  signal: AbortSignal;
}

/** The same, where no text of clients acts on the terminal. */
export const printing = (io: Io): Io => ({
  ...io,
  out: (text) => io.out(printable(text)),
  note: (text) => io.note(printable(text)),
});

/** A wrong use of the command line: exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** A failure whose message tells everything; exit code 1. */
export class CommandError extends Error {
  override name = "CommandError";
}

/** The end of a process that has said why: its exit code is that of the command. */
export class Ended extends Error {
  override name = "Ended";
  readonly code: number;
  constructor(code: number) {
    super(`ended with code ${code}`);
    this.code = code;
  }
}
