// Where the addon (tools/setup/build-llama.ts) and the libraries of llama.cpp lie.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../../config/assets.ts";

const require = createRequire(import.meta.url);
const built = fileURLToPath(new URL("../../native/build/llama", import.meta.url));

/** The addon, there once set-up could build it. */
export const llamaAddonFile = join(built, "precedent-llama.node");

/** Program of native/llama/gpu-check: generates models and checks the core without Node. */
export const llamaCheckFile = join(built, "llama-check");

/** The same with native/llama/scattered.patch: one batch for all recomputed tokens. */
export const scatteredAddonFile = join(built, "precedent-llama-scattered.node");
export const scatteredCheckFile = join(built, "llama-check-scattered");

/** The addon to load: the scattered one with PRECEDENT_LLAMA_SCATTERED=1, where it was built. */
export const chosenAddonFile = (environment: NodeJS.ProcessEnv = process.env): string =>
  environment["PRECEDENT_LLAMA_SCATTERED"] === "1" && existsSync(scatteredAddonFile)
    ? scatteredAddonFile
    : llamaAddonFile;

/** Release of the libraries: their figures are equal within one, and not across two. */
export function llamaBuild(): string {
  const file = resolve(llamaBackendsFolder(), "../../package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Backends of GPUs, the better one for a card that both reach first. */
export const gpuBackends = ["cuda", "vulkan"] as const;
export type GpuBackend = (typeof gpuBackends)[number];

/** Where set-up puts the library of a GPU's backend. */
export const gpuLibraryFile = (backend: GpuBackend, environment?: NodeJS.ProcessEnv): string =>
  join(cacheFolder(environment), "packages", `llama-${backend}-${llamaBuild()}`, `libggml-${backend}.so`);

/** Those that are there. */
export const gpuLibraries = (environment?: NodeJS.ProcessEnv): string[] =>
  gpuBackends.map((backend) => gpuLibraryFile(backend, environment)).filter((file) => existsSync(file));

/** How to get the backend that this machine's GPU wants. */
export const gpuRemedy = (): string =>
  `npm run setup -- --gpu ${existsSync("/proc/driver/nvidia/version") ? "cuda" : "vulkan"}`;

/** Libraries of @node-llama-cpp for this platform. */
export function llamaBackendsFolder(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return resolve(require.resolve(`@node-llama-cpp/${platform}`), "../../bins", platform);
  } catch (error) {
    throw new Error(
      `there is no prebuilt llama.cpp for ${platform} in node_modules (@node-llama-cpp/${platform}; linux-x64 and linux-arm64 are installed): run npm ci`,
      {
        cause: error,
      },
    );
  }
}
