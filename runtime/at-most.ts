// Waiting with an end.
import { setTimeout as sleep } from "node:timers/promises";

/** What the promise resolves to, or undefined when that takes longer; it then goes on unheeded. */
export const atMost = <T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> =>
  Promise.race([promise, sleep(milliseconds, undefined, { ref: false })]);
