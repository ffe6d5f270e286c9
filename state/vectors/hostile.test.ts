// Snapshots damaged in many ways are refused, each with a reason, and never answer. Embeddings that
// collide are clustered once and searched right. npm run soak takes 100,000 vectors.
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { faissAddonFile } from "../../tools/setup/build-native.ts";
import { codeOf, unit } from "./contract.testing.ts";
import { createFaissIndexes, type FaissIndexes } from "./faiss.ts";
import type { VectorIndex } from "./port.ts";

const full = process.env.PRECEDENT_FULL_COUNTS !== undefined;
const count = full ? 100_000 : 5_000;
const dimension = 16;

/** The same numbers in [0, 1) every time. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe.skipIf(!existsSync(faissAddonFile))("hostile snapshots and vectors (npm run setup builds faiss)", () => {
  let indexes: FaissIndexes;
  let folder: string;
  const problems: string[] = [];
  beforeAll(async () => {
    const log = { warn: (_: object, message: string) => problems.push(message) };
    indexes = await createFaissIndexes(dimension, { exactLimit: 1_000, log: log as never });
    folder = await mkdtemp(join(tmpdir(), "precedent-hostile-"));
  });
  afterAll(async () => {
    await indexes.close();
    await rm(folder, { recursive: true });
  });

  async function filled(vector: (i: number) => Float32Array): Promise<VectorIndex> {
    const index = indexes.open();
    const keys = Uint32Array.from({ length: count }, (_, i) => i);
    const rows = new Float32Array(count * dimension);
    keys.forEach((i) => rows.set(vector(i), i * dimension));
    await index.add(keys, rows);
    await expect.poll(() => index.figures(), { timeout: 30_000 }).toMatchObject({ kind: "ivf", building: false });
    return index;
  }
  const spread = (seed: number): (() => Float32Array) => {
    const random = createRandom(seed);
    return () => unit(Array.from({ length: dimension }, () => random() - 0.5));
  };

  test("bytes changed, ends cut, heads and tails exchanged: refused every time, and the whole one is read after", async () => {
    const files = [join(folder, "one.index"), join(folder, "other.index")] as const;
    const [first, other] = [await filled(spread(1)), await filled(spread(2))];
    await first.save(files[0], "one");
    await other.save(files[1], "other");
    const [one, two] = [await readFile(files[0]), await readFile(files[1])];
    const random = createRandom(3);
    const below = (limit: number): number => Math.floor(random() * limit);
    const damages: (() => Buffer)[] = [
      () => one.subarray(0, below(one.length)),
      () => Buffer.concat([one, two.subarray(0, 1 + below(64))]),
      ...[40, 64, 4_096].map((head) => () => Buffer.concat([two.subarray(0, head), one.subarray(head)])),
      () => Buffer.concat([one.subarray(0, one.length - 4), two.subarray(two.length - 4)]),
      () => {
        const bytes = Buffer.from(one);
        for (let i = 0; i <= below(64); i++) bytes[below(bytes.length)]! ^= 1 + below(255);
        return bytes;
      },
      () => {
        const bytes = Buffer.from(one);
        const at = below(bytes.length - 4_096);
        return bytes.fill(bytes[at]! ^ 0x5a, at, at + 1 + below(4_096));
      },
      // In the head and the sizes of the lists, where numbers decide how much is read.
      () => {
        const bytes = Buffer.from(one);
        bytes.writeUInt32LE([0, 1, 0xffffffff, 0x80000000][below(4)]!, 4 * below(20));
        return bytes;
      },
    ];
    const damaged = join(folder, "damaged.index");
    for (let i = 0; i < 120; i++) {
      const bytes = damages[i % damages.length]!();
      if (bytes.equals(one) || bytes.equals(two)) continue;
      await writeFile(damaged, bytes);
      expect(await codeOf(indexes.restore(damaged)), `damage ${i}`).toBe("bad_snapshot");
    }
    const { index, note } = await indexes.restore(files[0]);
    expect([note, index.figures().size]).toEqual(["one", count]);
    const query = spread(1)();
    expect((await index.search(query, 1))[0]).toMatchObject({ key: 0, similarity: expect.closeTo(1, 3) as number });
    await Promise.all([index, first, other].map((each) => each.close()));
  }, 120_000);

  const center = unit(Array.from({ length: dimension }, (_, i) => i + 1));
  const noise = createRandom(4);
  test.each<[string, (i: number) => Float32Array]>([
    ["all equal", () => center],
    ["all but equal", () => unit(Array.from(center, (value) => value + 1e-4 * (noise() - 0.5)))],
    ["all zero", () => new Float32Array(dimension)],
    ["half zero, half equal", (i) => (i % 2 === 0 ? center : new Float32Array(dimension))],
    ["equal but one", (i) => (i === 77 ? unit(center.map((value) => -value) as never) : center)],
    ["tiny and huge", (i) => center.map((value) => value * (i % 2 === 0 ? 1e-30 : 1e12))],
  ])(
    "colliding embeddings (%s) are clustered once and searched right",
    async (name, vector) => {
      const index = await filled(vector);
      const builds = index.figures().swaps;
      const best = name === "all zero" ? 0 : 1;
      for (let i = 0; i < 20; i++) {
        const found = await index.search(center, 25);
        expect(new Set(found.map(({ key }) => key)).size).toBe(25);
        expect(found.every(({ key }) => key < count)).toBe(true);
        expect(found[0]!.similarity).toBeCloseTo(best, 3);
        expect(found.every(({ similarity }, j) => j === 0 || similarity <= found[j - 1]!.similarity)).toBe(true);
      }
      if (name === "equal but one")
        expect((await index.search(unit(center.map((value) => -value) as never), 1))[0]).toMatchObject({ key: 77 });
      await index.remove(Uint32Array.from({ length: 100 }, (_, i) => i));
      expect((await index.search(center, 25)).every(({ key }) => key >= 100)).toBe(true);
      expect(index.figures()).toMatchObject({ swaps: builds, building: false, size: count - 100 });
      await index.close();
      expect(problems).toEqual([]);
    },
    60_000,
  );

  test("vectors that are no numbers, or too large for their products to be, are refused whole", async () => {
    const index = indexes.open();
    for (const bad of [NaN, Infinity, -Infinity, 3e38, -2e15]) {
      const vector = center.slice().fill(bad, 3, 4);
      expect(await codeOf(index.add(Uint32Array.of(1), vector))).toBe("not_finite");
      // Searches beside it go in the same call.
      const [refused, found] = await Promise.all([codeOf(index.search(vector, 1)), index.search(center, 1)]);
      expect([refused, found]).toEqual(["not_finite", []]);
    }
    expect(index.figures().size).toBe(0);
    await index.close();
  });
});
