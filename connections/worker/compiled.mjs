// Plain Node: finds the compiled form of a TypeScript file. It counts only while every source is as
// it was, by size and times, by contents where times differ or can't tell.
import { createHash } from "node:crypto";
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** A change that follows another within this time may leave the times as they were. */
const clockTickMs = 2_000;

export const buildFolder = (of = root) => join(of, "build");
const stampFile = (of = root) => join(buildFolder(of), "current.json");
export const hashOf = (contents) => createHash("sha256").update(contents).digest("base64");

/** What a source looks like from outside; null when there is none. */
export function look(file) {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? null : { size: found.size, changed: found.mtimeMs, touched: found.ctimeMs };
}

/** The build of the current sources, or null: {folder, entries, ...}. */
export function currentBuild(of = root) {
  try {
    const build = JSON.parse(readFileSync(stampFile(of), "utf8"));
    // Files know where their source stands.
    if (build.root !== of) return null;
    const began = Date.now();
    let read = false;
    for (const [path, input] of Object.entries(build.inputs)) {
      const file = join(of, path);
      const now = look(file);
      if (now === null || now.size !== input.size) return null;
      const told =
        now.changed === input.changed &&
        now.touched === input.touched &&
        Math.max(now.changed, now.touched) < build.began - clockTickMs;
      if (told) continue;
      if (hashOf(readFileSync(file)) !== input.hash) return null;
      build.inputs[path] = { ...now, hash: input.hash };
      read = true;
    }
    if (read) keepTimes(of, { ...build, began });
    return build;
  } catch {
    // Never compiled, or the folder went away under us.
    return null;
  }
}

/** Sources were read and are the same: next time their times suffice. */
function keepTimes(of, build) {
  try {
    writeStamp(of, build);
  } catch {
    // An image that may not be written to: they are read each time.
  }
}

/** `began`: before the first source was looked at. What is newer than that is read again. */
export function writeStamp(of, build) {
  const file = `${stampFile(of)}.${process.pid}.${process.hrtime.bigint()}`;
  writeFileSync(file, JSON.stringify(build));
  renameSync(file, stampFile(of));
}

/** URL of the compiled form of this source, or null: then tsx has to do. */
export function compiledOf(source, build = currentBuild(), of = root) {
  const made = build?.entries[relative(of, fileURLToPath(source))];
  return made === undefined ? null : pathToFileURL(join(buildFolder(of), build.folder, made)).href;
}

/** Runs this source, compiled when there is a current build of it; stack traces name the source. */
export async function load(source, build) {
  const compiled = compiledOf(source, build);
  if (compiled !== null) {
    process.setSourceMapsEnabled(true);
    return import(compiled);
  }
  const { register } = await import("tsx/esm/api");
  register();
  return import(source);
}
