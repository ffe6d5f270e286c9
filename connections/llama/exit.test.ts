// A process that leaves while its contexts compute: their threads are waited for before llama.cpp's
// globals are destroyed.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTinyModels, llamaIsBuilt, type TinyModels } from "./models.testing.ts";

const program = `
  const { openLlamaModel } = await import(${JSON.stringify(new URL("model.ts", import.meta.url).href)});
  const model = await openLlamaModel({ path: process.argv[1], fingerprint: "0".repeat(64) });
  const prompt = { tokens: new Int32Array(300).fill(70), maxTokens: 500 };
  const contexts = await Promise.all([1, 2, 3, 4].map(() => model.openContext({ contextTokens: 2048 })));
  await Promise.all(contexts.map((context) => new Promise((underWay) => {
    context.run(prompt, { onProgress: underWay }).catch(() => undefined);
  })));
  process.stdout.write("under way");
  process.exit(7);`;

describe.skipIf(!llamaIsBuilt)("leaving (npm run setup builds the addon)", () => {
  let models: TinyModels;
  beforeAll(async () => {
    models = await createTinyModels();
  });
  afterAll(() => models?.remove());

  it("keeps the exit code, whatever is under way", async () => {
    const given = ["--import", "tsx", "--input-type=module", "-e", program, await models.file("tiny")];
    for (let i = 0; i < 3; i++)
      await expect(promisify(execFile)(process.execPath, given)).rejects.toMatchObject({
        code: 7,
        signal: null,
        stdout: "under way",
      });
  }, 120_000);
});
