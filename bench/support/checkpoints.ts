// Finished parts of a long benchmark, kept so that a run that was broken off goes on where it was.
// What was kept under other settings (another commit, other data) does not count.
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

export interface Checkpoints {
  /**
   * The kept result of a part, or what `compute` gives, which is kept. Results must survive JSON.
   */
  part<T>(name: string, compute: () => Promise<T>): Promise<T>;
  /** Parts that are there already. */
  count(): number;
  /** The run is complete: nothing is left to go on with. */
  clear(): Promise<void>;
}

interface Checkpoint {
  settings: string;
  parts: Record<string, unknown>;
}

/** A file that is missing, broken or from other settings is an empty one. */
export async function openCheckpoints(file: string, settings: string): Promise<Checkpoints> {
  const kept = await readFile(file, "utf8")
    .then((text) => JSON.parse(text) as Checkpoint)
    .catch(() => undefined);
  const parts = new Map(Object.entries(kept?.settings === settings ? kept.parts : {}));
  return {
    async part<T>(name: string, compute: () => Promise<T>): Promise<T> {
      if (parts.has(name)) return parts.get(name) as T;
      const result = await compute();
      parts.set(name, result);
      await mkdir(dirname(file), { recursive: true });
      // Put in place whole: a kill in the middle leaves the former file.
      await writeFile(
        `${file}.new`,
        JSON.stringify({ settings, parts: Object.fromEntries(parts) } satisfies Checkpoint),
      );
      await rename(`${file}.new`, file);
      return result;
    },
    count: () => parts.size,
    clear() {
      parts.clear();
      return rm(file, { force: true });
    },
  };
}

/** Keeps nothing. */
export const noCheckpoints: Checkpoints = {
  part: (_name, compute) => compute(),
  count: () => 0,
  clear: () => Promise.resolve(),
};
