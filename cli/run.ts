// Runs a parsed command line to an exit code; the only place where errors become words.
import { CommanderError } from "commander";
import { adviceOf } from "../connections/security/errors.ts";
import { listenerOf } from "../stack/ports.ts";
import { Ended, UsageError, type Io } from "./io.ts";
import { createProgram } from "./program.ts";

/** 0 done, 1 failed, 2 used wrongly, 130 interrupted. */
export async function runProgram(argv: readonly string[], io: Io): Promise<number> {
  const program = await createProgram(io, argv);
  try {
    refuseUnverified(io);
    await program.parseAsync([...argv], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof Ended) return error.code;
    if (io.signal.aborted) return 130;
    const debug = program.opts<{ debug?: boolean }>().debug === true;
    io.note(`${debug && error instanceof Error ? (error.stack ?? error.message) : `error: ${wordsOf(error)}`}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** What calls models checks certificates as Node.js does, and this would turn that off. */
function refuseUnverified({ environment }: Io): void {
  if (environment["NODE_TLS_REJECT_UNAUTHORIZED"] !== "0") return;
  throw new UsageError(
    "NODE_TLS_REJECT_UNAUTHORIZED=0 turns the check of certificates off: unset it, and name the authority of " +
      "your endpoints in NODE_EXTRA_CA_CERTS (docs/security.md)",
  );
}

/** AggregateErrors of refused connections have no message of their own. */
export function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(wordsOf).join("; ");
  if (error instanceof Error && "code" in error && error.code === "EADDRINUSE" && "port" in error)
    return `${error.message}: it is taken by ${listenerOf(Number(error.port)) ?? "another program"}; end that, or name another port`;
  if (error instanceof Error && /\bENOSPC\b/.test(error.message))
    return `${error.message}; a disk is full: free some of that of the state folder (stack.folder), or name another folder`;
  const reported = error instanceof Error ? error.message || error.name : String(error);
  const remedy = adviceOf(error);
  return remedy === undefined ? reported : `${reported}; ${remedy}`;
}
