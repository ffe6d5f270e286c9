import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { precisionFor } from "./precision.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "precedent-precision-"))));
afterEach(() => rm(folder, { recursive: true }));

const processor = (flags: string): string => `processor\t: 0\nflags\t\t: fpu ${flags}\nbugs\t\t: none avx_vnni\n`;

test.each([
  ["avx512f avx512_vnni avx512_bitalg", "int8"],
  ["avx2 avx_vnni", "int8"],
  ["avx2 avx512f", "float32"],
  ["avx512_vnni_of_another_kind", "float32"],
])("a processor with %s runs %s", async (flags, precision) => {
  await writeFile(join(folder, "model.int8.onnx"), "");
  expect(precisionFor(folder, processor(flags))).toBe(precision);
});

test("a model without such a graph, and an unknown processor, run float32", async () => {
  expect(precisionFor(folder, processor("avx512_vnni"))).toBe("float32");
  await writeFile(join(folder, "model.int8.onnx"), "");
  expect(precisionFor(folder, "")).toBe("float32");
});
