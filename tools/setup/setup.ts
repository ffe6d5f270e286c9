// Set-up: everything that a package manager does not bring. `npm run setup`; the demo and the tests
// call it themselves. Idempotent, quick when all is there, safe to run twice at once (one waits for
// the other), and what is made appears whole or not at all. Its parts run side by side.
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pLimit from "p-limit";
import { messageOf } from "../../connections/errors.ts";
import { loadConfig } from "../../config/load.ts";
import { defaultModel, namedByArms, namedModel, namedModels, type NamedModel } from "../../config/models.ts";
import { gpuBackends, type GpuBackend } from "../../connections/llama/library.ts";
import { ensureServers, hasServers } from "../../stack/install.ts";
import { buildLlama } from "./build-llama.ts";
import { buildNative } from "./build-native.ts";
import { buildPage } from "./build-page.ts";
import { fetchGpuBackend } from "./gpu-backend.ts";
import { ensureEmbeddingModel } from "./embedding-model.ts";
import { withLock } from "./models/lock.ts";
import { fetchModel, megabytes, modelState, requantiseModel } from "./models/models.ts";
import { createProgress, type Progress } from "./progress.ts";

export interface SetUpOptions {
  progress?: Progress;
  /** false leaves the language models and llama.cpp out. Default true. */
  llama?: boolean;
  /** Models of the registry that are fetched, in this order. Default: the default one. */
  models?: readonly NamedModel[];
  /**
   * true builds the llama addon that computes scattered tokens in one batch as well
   * (docs/linked-prefill.md). Default false.
   */
  scattered?: boolean;
  /** Backends of GPUs that are fetched for llama arms. Default none. */
  gpu?: readonly GpuBackend[];
  /** false leaves the embedded servers out. Default true. */
  servers?: boolean;
  /** FAISS, which no answer needs, is built after it. Default: after llama.cpp. */
  indexesAfter?: Promise<unknown>;
  /** Stack folder that the servers are linked into. Default .precedent. */
  stackFolder?: string;
  /**
   * No model is begun after it: Ctrl-C ends the download under way, and the next one would go on
   * after the caller's end.
   */
  signal?: AbortSignal;
}

/** What begins at once, in this order; each resolves when it is there. */
export interface SetUpParts extends Readonly<
  Record<"servers" | "embedding" | "indexes" | "llama" | "gpu" | "page", Promise<void>>
> {
  /** By the name of the model. */
  models: ReadonlyMap<string, Promise<void>>;
}

/**
 * Rejects when something that can't be done without is missing; FAISS can be (the exact index takes
 * its place).
 */
export async function setUp(options: SetUpOptions = {}): Promise<void> {
  const { models, ...parts } = beginSetUp(options);
  await Promise.all([...Object.values(parts), ...models.values()]);
}

/** For a caller that can begin its own work with a part. */
export function beginSetUp(options: SetUpOptions = {}): SetUpParts {
  const { progress = createProgress(), llama = true, scattered = false, servers = true } = options;
  const { models = [namedModel(defaultModel)!], gpu = [], stackFolder = ".precedent", indexesAfter, signal } = options;
  // These compile: more at a time than there are cores would only take longer each.
  const turns = pLimit(Math.max(2, availableParallelism()));
  const part = (name: string, work: () => Promise<void>): Promise<void> =>
    inBackground(withLock(name, progress.line, () => turns(work)));
  const page = part("page", () => ensurePage(progress));
  const embedding = part("embedding", () => ensureEmbeddingModel(progress));
  const llamaReady = llama ? part("llama", () => ensureLlamaAddon(progress, scattered)) : Promise.resolve();
  return {
    ...{ page, embedding, llama: llamaReady },
    gpu: inBackground(Promise.all(gpu.map((backend) => ensureGpuBackend(backend, progress))).then(() => undefined)),
    servers: servers
      ? inBackground(withLock("servers", progress.line, () => ensureEmbeddedServers(stackFolder, progress)))
      : Promise.resolve(),
    // No answer waits for it: small domains are searched exactly.
    indexes: inBackground(after(indexesAfter ?? llamaReady, () => part("indexes", () => ensureIndexes(progress)))),
    models: llama ? ensureModels(models, llamaReady, progress, signal) : new Map(),
  };
}

/** Its failure is reported to the caller that awaits it, and is never an unhandled rejection. */
function inBackground<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}

/** Runs the work once the other has ended, however it ended. */
const after = (other: Promise<unknown>, work: () => Promise<void>): Promise<void> => other.then(work, work);

const there = (name: string, progress: Progress): void => progress.line(`✓ ${name}: there`);

async function ensureEmbeddedServers(folder: string, progress: Progress): Promise<void> {
  const before = await hasServers(folder);
  // Java is asked for even when they are there.
  if (before) await ensureServers(folder);
  else await progress.task("servers", (say) => ensureServers(folder, say));
  if (before) there("servers", progress);
}

async function ensurePage(progress: Progress): Promise<void> {
  const { fresh } = await buildPage();
  if (fresh) progress.line("✓ page: built");
  else there("page", progress);
}

async function ensureIndexes(progress: Progress): Promise<void> {
  const native = await buildNative((line) => progress.line(`  faiss: ${line}`));
  progress.line(
    native.built
      ? `✓ faiss: ${native.fresh ? "built" : "there"}`
      : `! faiss: ${native.reason}\n  Going on with the exact index: right, and quick enough up to some ten thousand examples.`,
  );
}

/**
 * One download after the other, so that the first model is there soon; the addon is compiled
 * meanwhile. A copy in Q8_0 needs the headers of llama.cpp.
 */
function ensureModels(
  models: readonly NamedModel[],
  llama: Promise<void>,
  progress: Progress,
  signal?: AbortSignal,
): ReadonlyMap<string, Promise<void>> {
  let before: Promise<unknown> = Promise.resolve();
  const one = (model: NamedModel): Promise<void> => {
    const begin = async (): Promise<void> => {
      signal?.throwIfAborted();
      await ensureModel(model, progress);
    };
    const fetched = inBackground(after(before, begin));
    before = fetched;
    return inBackground(Promise.all([fetched, llama]).then(() => ensureRequantised(model, progress)));
  };
  return new Map(models.map((model) => [model.name, one(model)]));
}

async function ensureRequantised(model: NamedModel, progress: Progress): Promise<void> {
  const title = `${model.name} as Q8_0`;
  const made = await requantiseModel(model, (line) => progress.line(`  ${title}: ${line}`));
  if (made === null) {
    if (model.requantised !== undefined) there(title, progress);
  } else
    progress.line(
      made.made
        ? `✓ ${title}: made`
        : `! ${title}: ${made.reason}\n  Going on with the model as fetched: as good, and slower.`,
    );
}

async function ensureModel(model: NamedModel, progress: Progress): Promise<void> {
  if ((await modelState(model)) === "there") return there(model.name, progress);
  await progress.task(`${model.name} (${megabytes(model.bytes)} MB)`, (say) => fetchModel(model, say));
}

async function ensureLlamaAddon(progress: Progress, scattered: boolean): Promise<void> {
  const built = await buildLlama((line) => progress.line(`  llama.cpp: ${line}`), { scattered });
  progress.line(
    built.built
      ? `✓ llama.cpp: ${built.fresh ? "built" : "there"}`
      : `! llama.cpp: ${built.reason}\n  Going on without it: arms of type llama can't start.`,
  );
}

async function ensureGpuBackend(backend: GpuBackend, progress: Progress): Promise<void> {
  const title = `llama.cpp for ${backend}`;
  const fetched = await withLock(`gpu-${backend}`, progress.line, () =>
    fetchGpuBackend(backend, (line) => progress.line(`  ${title}: ${line}`)),
  );
  if (fetched) progress.line(`✓ ${title}: fetched`);
  else there(title, progress);
}

/**
 * Those of the registry that the arms of the configuration in this folder name. What is wrong with
 * it is no reason not to set up.
 */
function modelsOfConfiguration(): NamedModel[] {
  try {
    return namedByArms(loadConfig().config.arms);
  } catch (error) {
    process.stderr.write(`! ${messageOf(error)}\n  Going on with the default model.\n`);
    return [];
  }
}

function known(name: string): NamedModel {
  const model = namedModel(name);
  if (model === undefined)
    throw new Error(`there is no model ${name}; there are ${namedModels.map((one) => one.name).join(", ")}`);
  return model;
}

function knownBackend(name: string): GpuBackend {
  const backend = gpuBackends.find((one) => one === name);
  if (backend === undefined)
    throw new Error(`there is no backend ${name} of GPUs; there are ${gpuBackends.join(", ")}`);
  return backend;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const several = { type: "string", multiple: true } as const;
    const options = { scattered: { type: "boolean" }, model: several, gpu: several } as const;
    const { scattered = false, model = [], gpu = [] } = parseArgs({ options }).values;
    const models = [...new Set([namedModel(defaultModel)!, ...modelsOfConfiguration(), ...model.map(known)])];
    await setUp({ scattered, models, gpu: gpu.map(knownBackend) });
  } catch (error) {
    process.stderr.write(`set-up failed: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}
