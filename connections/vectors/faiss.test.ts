import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { pino } from "pino";
import { createVectorIndex } from "./create.ts";
import { createFaissIndexes } from "./faiss.ts";
import { describeVectorIndex } from "./contract.ts";

const library = join(
  dirname(createRequire(import.meta.url).resolve("faiss-node/package.json")),
  "build/Release/faiss-node.node",
);

if (existsSync(library))
  describeVectorIndex("faiss", async (dimension) => {
    const indexes = await createFaissIndexes(dimension);
    return { open: () => indexes.open(), stop: () => indexes.close() };
  });
else describe.skip("vector index: faiss (not built here: npm run setup)", () => test("skipped", () => undefined));

test("createVectorIndex finds neighbours whatever the machine has, and is unavailable once closed", async () => {
  const index = await createVectorIndex(2, pino({ level: "silent" }));
  await index.add([
    { id: "a", vector: Float32Array.of(1, 0) },
    { id: "b", vector: Float32Array.of(0, 1) },
  ]);
  expect(await index.search(Float32Array.of(0, 1), 1)).toEqual([{ id: "b", similarity: 1 }]);
  await index.close();
  await expect(index.search(Float32Array.of(0, 1), 1)).rejects.toMatchObject({ code: "index_unavailable" });
});
