// Which `precedent up` processes use a state folder, by which configuration, where they listen: one
// file a process, removed at its end. A process that was killed is recognised as dead.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { isAlive } from "../connections/process/identity.ts";
import { self } from "./process.ts";
import { writePrivately } from "./state.ts";

const runningSystem = z.object({
  pid: z.number().int().positive(),
  started: z.string(),
  /** Absolute; null: the defaults. */
  file: z.string().nullable(),
  /** Hash of the file's text when last read. */
  hash: z.string(),
  stages: z.array(z.string()),
  /** False until all its stages run. */
  ready: z.boolean(),
  /** Base URL for OpenAI clients, where a gateway runs here. */
  baseUrl: z.string().optional(),
});
export type RunningSystem = z.infer<typeof runningSystem>;

const folderOf = (folder: string): string => join(folder, "running");

/** Hash of a configuration file's text; empty without one, or where it can't be read. */
export function hashOfFile(file: string | null): string {
  try {
    return file === null ? "" : createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch {
    return "";
  }
}

/** Writes or updates this process's record. Returns a function that removes it. */
export function recordRunning(folder: string, system: Omit<RunningSystem, "pid" | "started">): () => void {
  mkdirSync(folderOf(folder), { recursive: true });
  runningSystems(folder); // Removes records of dead processes.
  const me = self();
  const file = join(folderOf(folder), `${me.pid}.json`);
  writePrivately(file, JSON.stringify({ ...me, ...system }));
  return () => rmSync(file, { force: true });
}

/** Records of live processes; those of dead ones and of other versions are ignored. */
export function runningSystems(folder: string): RunningSystem[] {
  let names: string[];
  try {
    names = readdirSync(folderOf(folder)).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      const system = runningSystem.parse(JSON.parse(readFileSync(join(folderOf(folder), name), "utf8")));
      if (isAlive(system)) return [system];
      rmSync(join(folderOf(folder), name), { force: true });
      return [];
    } catch {
      return [];
    }
  });
}
