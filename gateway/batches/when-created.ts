// Another gateway may just have created a file or a batch that a client names: its record comes.
import { setTimeout as sleep } from "node:timers/promises";

const tries = 20;
const betweenMs = 100;

/** Reads again for up to 2 s where the id has the right form; undefined: there is none. */
export async function whenCreated<T>(read: () => T | undefined, isOfForm: boolean): Promise<T | undefined> {
  for (let left = isOfForm ? tries : 1; left > 0; left--) {
    const found = read();
    if (found !== undefined) return found;
    await sleep(betweenMs);
  }
  return undefined;
}
