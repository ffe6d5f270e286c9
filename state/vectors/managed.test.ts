import { expect, test } from "vitest";
import { createManagedIndex } from "./managed.ts";
import type { NativeIndex } from "./native.ts";
import { defaultIndexOptions } from "./tuning.ts";

test("a search between the first clusters and the news of them looks into enough", async () => {
  const probesOf: number[] = [];
  let tellBuilt: () => void = () => undefined;
  let [size, lists] = [0, 0];
  const nothing = { keys: new Uint32Array(), similarities: new Float32Array(), counts: Uint32Array.of(0) };
  const native: NativeIndex = {
    get size() {
      return size;
    },
    get lists() {
      return lists;
    },
    bytes: 0,
    add: async (keys) => void (size += keys.length),
    remove: async () => undefined,
    search: (_, __, probes) => (probesOf.push(probes), nothing),
    probe: async () => ({ keys: new Uint32Array(), ranks: new Uint32Array() }),
    sample: async () => new Float32Array(),
    rebuild: (wanted) => {
      // Swapped on another thread: a search meets the new content before this resolves.
      lists = wanted;
      return new Promise((resolve) => (tellBuilt = resolve));
    },
    save: async () => undefined,
    restore: async () => "",
    drop: () => undefined,
  };
  const index = createManagedIndex(native, {
    dimension: 1,
    options: { ...defaultIndexOptions, exactLimit: 1_000, probeShare: 0 },
    random: () => 0.5,
    oneBuild: (build) => build(),
    onFigures: () => undefined,
    onProblem: (problem) => expect.fail(problem),
  });
  await index.add(
    Uint32Array.from({ length: 1_001 }, (_, i) => i),
    new Float32Array(1_001),
  );
  expect(lists).toBe(32);
  index.search(Float32Array.of(1), 1);
  tellBuilt();
  expect(probesOf).toEqual([8]);
});
