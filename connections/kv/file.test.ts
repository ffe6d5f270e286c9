import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { encodeFile, readFileBytes } from "./file.ts";
import { anEntry, blobOf, format } from "./values.testing.ts";

/** Turns of the event loop that others got until it was done. */
async function turnsOf<T>(work: Promise<T>): Promise<[T, number]> {
  let [turns, done] = [0, false];
  void work.finally(() => (done = true));
  while (!done) {
    await setImmediate();
    turns++;
  }
  return [await work, turns];
}

it("leaves the event loop to others while a checksum is computed, of a file that is written or read", async () => {
  const blob = blobOf(1, 64 * 1_048_576);
  const entry = { ...anEntry(1), bytes: blob.length, createdAt: 0 };
  const [parts, written] = await turnsOf(encodeFile(format, entry, blob));
  const [found, read] = await turnsOf(readFileBytes(Buffer.concat(parts), format, entry.key));
  expect(found).toMatchObject({ ok: true, value: { entry } });
  // One turn would be all that is left of a computation on this thread.
  expect(written).toBeGreaterThan(2);
  expect(read).toBeGreaterThan(2);
});
