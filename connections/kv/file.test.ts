import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { encodeFile, readFileBytes, readHeader } from "./file.ts";
import type { Impact } from "./port.ts";
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

const impact: Impact = { cci: 0.7, inter: [0.25], ranking: [1, 0] };

it("keeps what a scoring pass found", async () => {
  const entry = { ...anEntry(1, [{ chunk: anEntry(2).chunk, tokens: 2 }]), impact, bytes: 10, createdAt: 0 };
  const bytes = Buffer.concat(await encodeFile(format, entry, blobOf(1)));
  expect(await readFileBytes(bytes, format, entry.key)).toMatchObject({ ok: true, value: { entry } });
});

it.each<[string, unknown]>([
  ["a CCI above 1", { ...impact, cci: 1.1 }],
  ["no CCI", { ...impact, cci: null }],
  ["another prefix", { ...impact, inter: [0.2, 0.1] }],
  ["attention below 0", { ...impact, inter: [-1] }],
  ["a token that is not there", { ...impact, ranking: [2, 0] }],
  ["a token twice", { ...impact, ranking: [1, 1] }],
  ["too few tokens", { ...impact, ranking: [0] }],
  ["nothing at all", null],
])("refuses a score with %s", async (_what, wrong) => {
  const prefix = [{ chunk: anEntry(2).chunk, tokens: 2 }];
  const entry = { ...anEntry(1, prefix), impact: wrong as Impact, bytes: 10, createdAt: 0 };
  const bytes = Buffer.concat(await encodeFile(format, entry, blobOf(1)));
  expect(await readFileBytes(bytes, format, entry.key)).toMatchObject({ ok: false });
});

it("refuses a score that is beyond all numbers", () => {
  const prefix = [{ chunk: anEntry(2).chunk, tokens: 2 }];
  const entry = { ...anEntry(1, prefix), impact, bytes: 10, createdAt: 0 };
  const header = JSON.stringify({ format, ...entry });
  const read = (text: string) => readHeader(Buffer.from(text), format, entry.key);
  expect(read(header)).toMatchObject({ ok: true });
  expect(read(header.replace("0.25", "1e999"))).toMatchObject({ ok: false });
});
