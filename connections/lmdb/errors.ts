// Failed commits of an LMDB database, on a full disk for instance. lmdb 3.5.6 keeps two promises of
// such a commit internal; their unhandled rejections would end the process.
import { setImmediate } from "node:timers/promises";
import { messageOf } from "../errors.ts";

/** lmdb batches by event turn, with a promise that callers can't reach: off. Use transactions. */
export const withoutBatches = { eventTurnBatching: false } as const;

/**
 * What a write was rejected with, and the reason, which lmdb tells in another promise. @param what
 * begins the message, such as "the documents"
 */
export async function commitFailure(error: unknown, what: string): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<never> };
  if (commitError === undefined) return error;
  const reported = commitError.catch(
    (cause: unknown) => new Error(`${what} can't be written: ${messageOf(cause)}`, { cause }),
  );
  return Promise.race([reported, setImmediate(error)]);
}
