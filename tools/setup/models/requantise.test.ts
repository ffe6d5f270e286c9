import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { llamaIsBuilt } from "../../../connections/llama/models.testing.ts";
import { requantise } from "./requantise.ts";

/** It compiles a program first. */
const timeout = 180_000;

test("what is no model is not made into one: the reason is given and nothing is left", { timeout }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "precedent-requantise-"));
  try {
    await writeFile(join(folder, "in.gguf"), "no model");
    const result = await requantise(join(folder, "in.gguf"), join(folder, "out.gguf"));
    // Without a compiler the reason is another one, and nothing is left either.
    const reason = llamaIsBuilt ? /could not be requantised$/ : /./;
    expect(result).toEqual({ made: false, reason: expect.stringMatching(reason) as string });
    expect(await readdir(folder)).toEqual(["in.gguf"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
