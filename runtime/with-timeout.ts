// A wait with a timeout.
import { setTimeout as sleep } from "node:timers/promises";

/** The promise's value, or undefined after the timeout; nothing is cancelled. */
export const withTimeout = <T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> =>
  Promise.race([promise, sleep(milliseconds, undefined, { ref: false })]);
