// Child: model files with damaged counts, lengths, types and offsets, each loaded and, where it
// loads, used. Arguments: addon file, whole model, backends, folder, seed, files.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Native } from "../../../connections/llama/native.ts";
import { createOutcomes, createRandom } from "./values.ts";

const [file = "", path = "", backends = "", folder = "", seed = "", files = ""] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(file) as Native;
const random = createRandom(Number(seed));
const outcomes = createOutcomes();
const whole = readFileSync(path);

/** Up to the tensors' data: where every number counts, measures or points at something. */
const headBytes = whole.indexOf("output_norm.weight") + 64;
const odd32 = [0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x10000000];
const odd64 = [0n, 1n, 2n ** 64n - 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 40n, 2n ** 32n];
/** Magic 4, version 4, tensors 8, keys 8; the first key: its length 8, its text. */
const counts = [8, 16, 24];

function damaged(i: number): Buffer {
  const bytes = Buffer.from(whole);
  const value = odd64[i % odd64.length]!;
  if (i < counts.length * odd64.length) bytes.writeBigUInt64LE(value, counts[Math.floor(i / odd64.length)]);
  else if (random(10) === 0) return bytes.subarray(0, random(bytes.length));
  else {
    const at = random(random(2) === 0 ? 1_200 : headBytes);
    const kind = random(3);
    if (kind === 0) bytes[at]! ^= 1 << random(8);
    if (kind === 1) bytes.writeUInt32LE(odd32[random(odd32.length)]!, at);
    if (kind === 2) bytes.writeBigUInt64LE(odd64[random(odd64.length)]!, at);
  }
  return bytes;
}

async function use(model: string): Promise<void> {
  const onCpu = { device: "cpu", gpuLayers: -1, backends, libraries: [] };
  const loaded = await addon.loadModel({ path: model, fingerprint: new Uint8Array(32), ...onCpu });
  const tokens = loaded.tokenize("some text", false);
  loaded.detokenize(tokens, true);
  const options = { contextTokens: 256, sequences: 1, threads: 1, flashAttention: false, kvType: "f16" };
  const context = await addon.createContext(loaded, {
    ...options,
    batchTokens: 64,
    partTokens: 32,
    mostWaiting: 8,
    pieceBytes: 4_096,
    contexts: 1,
  });
  const none = new Int32Array(0);
  const job = { tokens, links: [], recompute: none, exports: none, logitsAt: none, maxTokens: 3, temperature: 0 };
  await new Promise<void>((resolve) => {
    context.run(
      { ...job, topP: 1, seed: 1, stops: [], progress: false },
      () => undefined,
      () => resolve(),
    );
  });
  await context.close();
  loaded.close();
}

const model = join(folder, "damaged.gguf");
for (let i = 0; i < Number(files); i++) {
  writeFileSync(model, damaged(i));
  await outcomes.call(() => use(model), true);
}
await use(path);
process.stdout.write(JSON.stringify(outcomes.counts));
