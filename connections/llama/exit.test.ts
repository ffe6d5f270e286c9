// A process that leaves while its contexts compute: their threads are waited for before llama.cpp's
// globals are destroyed. And one that may not have the memory that it asks for.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { llamaAddonFile, llamaBackendsFolder } from "./library.ts";
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

// Without TypeScript: WebAssembly reserves more than the limit.
const greedy = `
  const [file, path, backends] = process.argv.slice(1);
  const addon = require(file);
  const options = { sequences: 2, threads: 1, flashAttention: true, kvType: "f16", batchTokens: 512, partTokens: 128 };
  const bounds = { mostWaiting: 8, pieceBytes: 65536, contexts: 1 };
  const none = new Int32Array(0);
  const job = { links: [], recompute: none, exports: none, logitsAt: none, temperature: 0, topP: 1, seed: 0, stops: [] };
  (async () => {
    const model = await addon.loadModel({ path, fingerprint: new Uint8Array(32), device: "cpu", gpuLayers: -1, libraries: [], backends });
    const open = (contextTokens) => addon.createContext(model, { ...options, ...bounds, contextTokens });
    const small = await open(512);
    const refused = await open(2 ** 24).catch((error) => error.code);
    const tokens = new Int32Array(300).fill(70);
    small.run({ ...job, tokens, maxTokens: 5, progress: false }, () => undefined, (failure, { finish }) => {
      process.stdout.write([refused, finish].join());
      small.close();
    });
  })();`;

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

  it("outlives a context for which there is no memory", async () => {
    const limited = `ulimit -v ${String(6 * 1_048_576)} && exec "$0" "$@"`;
    const given = ["-e", greedy, llamaAddonFile, await models.file("tiny"), llamaBackendsFolder()];
    const { stdout } = await promisify(execFile)("sh", ["-c", limited, process.execPath, ...given]);
    expect(stdout).toBe("context_failed,length");
  });
});
