// A wait with a timeout.
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Resolves as the promise does, or to undefined after the timeout; the promise is not cancelled.
 */
export const withTimeout = <T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> =>
  Promise.race([promise, sleep(milliseconds, undefined, { ref: false })]);
