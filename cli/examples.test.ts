// importPairs without servers: what reaches the producer, in which order, and what a failure does.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { configSchema } from "../config/schema.ts";
import { createHashEmbedder } from "../connections/embedder/hash.testing.ts";
import type { Embedder } from "../connections/embedder/port.ts";
import type { Example } from "../schemas/types.ts";
import { importPairs, type ImportOptions } from "./examples.ts";
import { pairId } from "./imported-example.ts";

const options = { tenant: "default" };
const pairs = Array.from({ length: 2_500 }, (_, i) => ({ request: `question ${i % 2_000}`, response: `answer ${i}` }));
const config = configSchema.parse({ arms: [{ type: "recorded", name: "none", file: "none.jsonl", cost: 1 }] });
let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-import-"));
  file = join(folder, "pairs.jsonl");
  await writeFile(file, pairs.map((pair) => JSON.stringify(pair)).join("\n"));
});
afterAll(() => rm(folder, { recursive: true }));

/** A session whose producer keeps what it is given; the producer's answer takes a while. */
function memory() {
  const batches: Example[][] = [];
  let isOpen = true;
  const producer = {
    async send(messages: readonly { value: Example }[]): Promise<void> {
      expect(isOpen).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 20));
      batches.push(messages.map(({ value }) => value));
    },
    close: async () => void (isOpen = false),
  };
  const codec = { encode: (_topic: string, value: Example) => value };
  const session = { config, codec, kafka: { plainProducer: () => producer } } as unknown as ImportOptions["session"];
  return { session, batches, isOpen: () => isOpen };
}
/** Notes which calls are under way together. */
function watched(embedAll: Embedder["embedAll"]): { embedder: Embedder; most: () => number } {
  let [now, most] = [0, 0];
  const watch: Embedder["embedAll"] = async (texts, onProgress) => {
    most = Math.max(most, ++now);
    return embedAll(texts, onProgress).finally(() => now--);
  };
  return { embedder: { ...createHashEmbedder(8), embedAll: watch }, most: () => most };
}

test("every pair is produced with its own vector, in the file's order, two pieces at a time", async () => {
  const { session, batches, isOpen } = memory();
  const hash = createHashEmbedder(8);
  let calls = 0;
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  // The first piece ends after the second has begun: the others wait for it.
  const { embedder, most } = watched(async (texts, onProgress) => {
    if (calls++ === 0) await begun;
    else begin();
    return hash.embedAll(texts, onProgress);
  });
  const progress: number[] = [];
  const done = await importPairs({ session, embedder, file, options, onProgress: (n) => progress.push(n) });
  expect(done).toBe(2_500);
  expect(batches.map((batch) => batch.length)).toEqual([1_024, 1_024, 452]);
  const examples = batches.flat();
  expect(examples.map(({ response }) => response)).toEqual(pairs.map(({ response }) => response));
  const vectors = await hash.embedAll(pairs.map(({ request }) => request));
  examples.forEach(({ embedding }, i) => {
    const { buffer, byteOffset, byteLength } = vectors[i]!;
    expect(embedding.equals(Buffer.from(buffer, byteOffset, byteLength))).toBe(true);
  });
  expect(most()).toBe(2);
  expect(progress).toEqual(progress.toSorted((a, b) => a - b));
  expect(isOpen()).toBe(false);
});

test("known pairs are left out", async () => {
  const { session, batches } = memory();
  const known = new Set(pairs.slice(0, 2_400).map((pair) => pairId(pair, options)));
  expect(await importPairs({ session, embedder: createHashEmbedder(8), file, options, known })).toBe(100);
  expect(batches.flat().map(({ response }) => response)).toEqual(pairs.slice(2_400).map(({ response }) => response));
});

test("what fails ends the import, and nothing behind it is produced", async () => {
  const { session, batches, isOpen } = memory();
  const hash = createHashEmbedder(8);
  let calls = 0;
  const { embedder } = watched((texts) =>
    ++calls === 2 ? Promise.reject(new Error("no vectors")) : hash.embedAll(texts),
  );
  await expect(importPairs({ session, embedder, file, options })).rejects.toThrow("no vectors");
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(batches.map((batch) => batch.length)).toEqual([1_024]);
  expect(isOpen()).toBe(false);
});

test("an abort ends the import between two pieces", async () => {
  const { session, batches, isOpen } = memory();
  const controller = new AbortController();
  const hash = createHashEmbedder(8);
  const { embedder } = watched((texts) => (controller.abort(new Error("stopped")), hash.embedAll(texts)));
  await expect(importPairs({ session, embedder, file, options, signal: controller.signal })).rejects.toThrow("stopped");
  expect(batches.length).toBeLessThan(3);
  expect(isOpen()).toBe(false);
});
