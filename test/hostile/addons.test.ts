// Nothing that is given to an addon ends its process, and everything is answered: 10,000 seeded
// calls of each addon's exports, damaged model files, threads and processes that end with work
// under way. Each in a child process, so that a crash is a failed test.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { llamaAddonFile, llamaBackendsFolder } from "../../connections/llama/library.ts";
import { createTinyModels, llamaIsBuilt, type TinyModels } from "../../connections/llama/models.testing.ts";
import { faissAddonFile } from "../../tools/setup/build-native.ts";

const program = (name: string): string => fileURLToPath(new URL(`addons/${name}`, import.meta.url));

/** Odd file names are relative ones, too: what they make stays in the folder of the test. */
let folder: string;

async function child(name: string, ...given: readonly string[]): Promise<Record<string, unknown>> {
  const run = promisify(execFile);
  const loader = name.endsWith(".ts") ? ["--import", import.meta.resolve("tsx")] : [];
  const options = { timeout: 100_000, cwd: folder };
  const { stdout } = await run(process.execPath, [...loader, program(name), ...given], options);
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe.skipIf(!llamaIsBuilt)("the addons (npm run setup builds them)", () => {
  let models: TinyModels;
  let model: string;
  const backends = llamaIsBuilt ? llamaBackendsFolder() : "";
  beforeAll(async () => {
    models = await createTinyModels();
    model = await models.file("tiny");
    folder = await mkdtemp(join(tmpdir(), "precedent-addons-"));
  });
  afterAll(async () => {
    await models.remove();
    await rm(folder, { recursive: true });
  });

  test("10,000 calls of the FAISS addon end in results or errors, and it still searches right", async () => {
    const outcome = await child("faiss-calls.ts", faissAddonFile, folder, "7", "10000");
    expect(outcome).toMatchObject({ speechless: 0, wrong: 0 });
    expect(outcome.done).toBeGreaterThan(2_000);
    expect(outcome.refused).toBeGreaterThan(2_000);
  });

  test("10,000 calls of the llama addon: each job ends once, and a new context answers as before", async () => {
    const outcome = await child("llama-calls.ts", llamaAddonFile, model, backends, "7", "10000");
    expect(outcome).toMatchObject({ speechless: 0, unfinished: 0, changed: false });
    expect(outcome.done).toBeGreaterThan(2_000);
    expect(outcome.refused).toBeGreaterThan(2_000);
    expect(outcome.accepted).toBeGreaterThan(300);
  });

  test("300 model files with damaged counts, lengths and offsets are loaded or refused", async () => {
    const outcome = await child("gguf-files.ts", llamaAddonFile, model, backends, folder, "7", "300");
    expect(outcome).toMatchObject({ calls: 300, speechless: 0 });
    expect(outcome.refused).toBeGreaterThan(100);
  });

  test("threads end during builds and batches, and process.exit keeps its code", async () => {
    const ended = child("endings.mjs", llamaAddonFile, faissAddonFile, model, backends, folder);
    await expect(ended).rejects.toMatchObject({ code: 7, signal: null, stdout: "left" });
  });
});
