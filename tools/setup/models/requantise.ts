// Requantises a GGUF model to Q8_0 through the prebuilt llama.cpp of @node-llama-cpp: a small
// program is compiled against its headers and run once. What it wrote is loaded and checked before
// it is put in place, whole. Without a compiler the caller goes on without it.
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../../connections/errors.ts";
import { type LlamaLibrary, unpackLlamaLibrary } from "./llama-library.ts";
import { run } from "../../../connections/python/python.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

export type Requantised = { made: true } | { made: false; reason: string };

/** Never rejects: the model as it is does the same, more slowly. */
export async function requantise(
  from: string,
  to: string,
  say: (line: string) => void = () => undefined,
): Promise<Requantised> {
  const beside = `${to}.${process.pid}.tmp`;
  await mkdir(join(root, "native/build"), { recursive: true });
  const folder = await mkdtemp(join(root, "native/build/llama-"));
  try {
    const library = await unpackLlamaLibrary(say, folder);
    say("compiling the program that does it (about 5 s)");
    const program = await compile(folder, library);
    say("requantising (about 3 s)");
    await run(program, [library.backends, from, beside]);
    await rename(beside, to);
    return { made: true };
  } catch (error) {
    return { made: false, reason: messageOf(error) };
  } finally {
    await rm(beside, { force: true });
    await rm(folder, { recursive: true, force: true });
  }
}

async function compile(folder: string, { includes, links, backends }: LlamaLibrary): Promise<string> {
  const program = join(folder, "requantise");
  await run("g++", [
    ...["-std=c++17", "-O1", join(root, "native/llama/requantise.cpp"), "-o", program],
    ...[...includes, ...links, `-Wl,-rpath,${backends}`],
  ]);
  return program;
}
