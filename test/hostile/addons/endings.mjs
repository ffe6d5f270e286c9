// Child: threads that end while the addons work for them, then the whole process with work under
// way (exit code 7). Arguments: addon files of llama and FAISS, model, backends, folder. Plain JavaScript, since
// worker threads of Node 20 do not inherit tsx.
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

const given = process.argv.slice(2);
const [llamaFile = "", faissFile = "", path = "", backends = "", folder = ""] = given;
const require = createRequire(import.meta.url);
const nothing = () => undefined;

/** Resolves once a job generates. */
async function generate() {
  const addon = require(llamaFile);
  const model = await addon.loadModel({
    path,
    fingerprint: new Uint8Array(32),
    device: "cpu",
    gpuLayers: -1,
    libraries: [],
    backends,
  });
  const options = { contextTokens: 1024, sequences: 2, threads: 1, flashAttention: false, kvType: "f16" };
  const context = await addon.createContext(model, {
    ...options,
    batchTokens: 64,
    partTokens: 32,
    mostWaiting: 8,
    pieceBytes: 65_536,
    contexts: 2,
  });
  const none = new Int32Array(0);
  const job = { tokens: new Int32Array(100).fill(70), links: [], recompute: none, logitsAt: none, maxTokens: 800 };
  const first = { ...job, exports: Int32Array.of(0, 90), temperature: 0, topP: 1, seed: 1, stops: [], progress: true };
  await new Promise((resolve) => {
    for (let i = 0; i < 3; i++) context.run(first, () => resolve(), nothing);
  });
  const scorer = await addon.createScorer(model, { ...options, batchTokens: 64 });
  void scorer.attention({ tokens: first.tokens, links: [], starts: Int32Array.of(0, 50), layers: 0 }).catch(nothing);
}

/** Everything asked for at once, of a build that takes tenths of a second. */
async function build() {
  const { Index } = require(faissFile);
  const [dimension, count] = [32, 6_000];
  const index = new Index(dimension);
  const vectors = Float32Array.from({ length: count * dimension }, (_, i) => Math.sin(i * 12.9898) % 1);
  await index.add(
    Uint32Array.from({ length: count }, (_, i) => i),
    vectors,
  );
  const under = [
    index.rebuild(300, 64, 10, 1),
    index.probe(vectors.subarray(0, dimension), 5),
    index.sample(100),
    index.save(join(folder, "ending.index"), "note"),
    index.restore(join(folder, "none")),
  ];
  for (const one of under) void one.catch(nothing);
}

if (!isMainThread) {
  await Promise.all([generate(), build()]);
  parentPort.postMessage("under way");
  setInterval(nothing, 1_000);
} else {
  for (let i = 0; i < 5; i++) {
    const worker = new Worker(fileURLToPath(import.meta.url), { argv: given });
    await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    await new Promise((resolve) => setTimeout(resolve, 10 * i));
    await worker.terminate();
  }
  await Promise.all([generate(), build()]);
  process.stdout.write("left");
  process.exit(7);
}
