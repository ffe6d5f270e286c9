// Commits of an LMDB database that fail, a full disk for instance. lmdb 3.5.6 keeps two promises of
// such a commit to itself; a rejection that nobody handles ends the process.
import { setImmediate } from "node:timers/promises";
import { messageOf } from "../errors.ts";

/**
 * Options that every database is opened with: the batches of an event turn that lmdb makes by
 * default hold a promise that nobody can listen to. Without them every write that stands in no
 * transaction is a commit of its own: put what belongs together into one.
 */
export const withoutBatches = { eventTurnBatching: false } as const;

/**
 * What a write was rejected with, with the reason: lmdb tells that in a promise beside the error,
 * which has to be listened to.
 * @param what begins the message, such as "the documents"
 */
export async function commitFailure(error: unknown, what: string): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<never> };
  if (commitError === undefined) return error;
  const said = commitError.catch(
    (cause: unknown) => new Error(`${what} can't be written: ${messageOf(cause)}`, { cause }),
  );
  return Promise.race([said, setImmediate(error)]);
}
