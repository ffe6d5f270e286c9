import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { LinkPolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import { parsePolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import { aFolder, anEntry, aStore, blobOf } from "../../connections/kv/values.testing.ts";
import { createPrefetcher, type Prefetcher } from "./prefetch.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const made of folders.splice(0)) await rm(made, { recursive: true, force: true });
});

const policy = (name: string): LinkPolicy => {
  const parsed = parsePolicy(name);
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
};
/** A prompt of entries; each has two tokens. */
const promptOf = (...numbers: number[]) => ({
  tokens: new Int32Array(2 * numbers.length + 1),
  chunks: numbers.map((n, index) => ({ chunk: anEntry(n).chunk, tokens: 2, begin: 2 * index })),
});

/** A reopened store with ten entries of ten bytes on disk, and memory for `room` of them. */
async function waiting(room: number, most?: number) {
  const root = await aFolder();
  folders.push(root);
  const first = await aStore({ root });
  for (let n = 0; n < 10; n++) await first.put(anEntry(n), blobOf(n));
  await first.close();
  const store = await aStore({ root, memoryBytes: 10 * room });
  const prefetcher: Prefetcher = createPrefetcher({ store, convention: "seen", ...(most && { most }) });
  const requests: { over: AbortController; ended: Promise<void> }[] = [];
  const wait = (name: string, ...numbers: number[]) => {
    const over = new AbortController();
    const ended = prefetcher.waiting(() => promptOf(...numbers), policy(name), over.signal);
    const request = { over, ended };
    requests.push(request);
    return request;
  };
  const inMemory = () =>
    Array.from({ length: 10 }, (_, n) => n).filter((n) => store.variants(anEntry(n).chunk)[0]?.memory);
  const settled = async (wanted: number[]) => {
    for (let look = 0; look < 500 && String(inMemory()) !== String(wanted); look++) await sleep(2);
    // And it stays so.
    await sleep(5);
    expect(inMemory()).toEqual(wanted);
  };
  return { store, wait, settled };
}

describe("requests that wait", () => {
  it("find in memory what they link, and nothing that is computed again anyway", async () => {
    const { store, wait, settled } = await waiting(10);
    const request = wait("last-2", 0, 1, 2, 3);
    await settled([0, 1]);
    await store.get(anEntry(0).key);
    await store.get(anEntry(1).key);
    expect(store.stats()).toMatchObject({ prefetched: 2, memoryHits: 2, diskHits: 0 });
    request.over.abort();
    await request.ended;
  });

  it("stand in line for half of memory, and go on when one is over or gives up", async () => {
    const { store, wait, settled } = await waiting(4);
    const [first, second, third] = [wait("naive", 0, 1), wait("naive", 2, 3), wait("naive", 4)];
    await settled([0, 1]);
    second.over.abort();
    await second.ended;
    await settled([0, 1]);
    first.over.abort();
    await first.ended;
    await settled([0, 1, 4]);
    expect(store.stats().prefetched).toBe(3);
    third.over.abort();
    await third.ended;
  });

  it("are left to themselves where they can never fit, name nothing cached, or are too many", async () => {
    const { store, wait, settled } = await waiting(4, 2);
    await wait("naive", 0, 1, 2).ended;
    await wait("naive", 40).ended;
    expect(store.stats().prefetched).toBe(0);
    const kept = wait("naive", 0, 1);
    await settled([0, 1]);
    const [held, inLine] = [wait("naive", 2), wait("naive", 3)];
    await wait("naive", 4).ended;
    for (const { over, ended } of [held, inLine, kept]) {
      over.abort();
      await ended;
    }
    await settled([0, 1]);
  });
});
