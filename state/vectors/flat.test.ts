import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { describeVectorIndex, unit } from "./contract.testing.ts";
import { createVectorIndexes } from "./create.ts";
import { createFlatIndexes } from "./flat.ts";

const built = existsSync(fileURLToPath(new URL("../../native/build/faiss-node.node", import.meta.url)));

test("where flat is asked for there are indexes, whatever the machine has", async () => {
  const indexes = await createVectorIndexes(2, pino({ level: "silent" }), { kind: "flat" });
  expect(indexes.kind).toBe(built ? "flat" : "exact");
  const index = indexes.open();
  await index.add(Uint32Array.of(1, 2), Float32Array.of(1, 0, 0, 1));
  expect(await index.search(Float32Array.of(0, 1), 1)).toEqual([{ key: 2, similarity: 1 }]);
  await indexes.close();
});

describe.skipIf(!built)("faiss-node (npm run setup builds it)", () => {
  describeVectorIndex("faiss-node, flat", async (dimension) => createFlatIndexes(dimension));

  test("others get their turn while many are added, and a search in between finds what is there", async () => {
    const dimension = 64;
    const count = 2_000;
    const index = createFlatIndexes(dimension).open();
    const vectors = Float32Array.from({ length: count }, (_, key) => key + 1).reduce(
      (rows, key) => {
        rows.set(unit(Array.from({ length: dimension }, (_, i) => Math.sin(key * (i + 1)))), (key - 1) * dimension);
        return rows;
      },
      new Float32Array(count * dimension),
    );
    const keys = Uint32Array.from({ length: count }, (_, key) => key);
    let over = false;
    const adding = index.add(keys, vectors).then(() => (over = true));
    const seen: number[] = [];
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve));
      const size = index.figures().size;
      const found = await index.search(vectors.subarray(0, dimension), 1);
      if (size > 0) expect(found[0]?.key).toBe(0);
      seen.push(size);
    }
    await adding;
    expect(new Set(seen).size).toBeGreaterThan(5);
    expect(index.figures().size).toBe(count);
    // Removal moves later vectors up: keys keep theirs.
    await index.remove(keys.filter((key) => key % 3 === 0));
    for (const key of [1, 500, 1_999])
      expect((await index.search(vectors.subarray(key * dimension, (key + 1) * dimension), 1))[0]?.key).toBe(key);
    await index.close();
  });
});
