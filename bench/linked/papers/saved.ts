// Results of questions, each appended to a file when it is there, so that a run that was killed
// goes on where it was, also under a later commit. A line cut short by the kill is measured again.
import { appendFile, mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Checkpoints } from "../../support/checkpoints.ts";
import { significant } from "../../support/statistics.ts";

export interface Saved extends Checkpoints {
  /** Commits that measured what is there. */
  commits(): string[];
}

interface Line {
  settings: string;
  commit: string | null;
  name: string;
  result: unknown;
}

/** settings: what results depend on; those of others stay in the file and do not count. */
export async function openSaved(file: string, settings: string, commit: string | null): Promise<Saved> {
  await mkdir(dirname(file), { recursive: true });
  const text = await readFile(file, "utf8").catch(() => "");
  // Never behind half a line.
  if (text !== "" && !text.endsWith("\n")) await appendFile(file, "\n");
  const lines = text.split("\n").flatMap((line) => lineOf(line) ?? []);
  const parts = new Map(lines.filter((line) => line.settings === settings).map((line) => [line.name, line]));
  return {
    async part<T>(name: string, compute: () => Promise<T>): Promise<T> {
      const known = parts.get(name);
      if (known !== undefined) return known.result as T;
      const result = await compute();
      const line: Line = { settings, commit, name, result };
      parts.set(name, line);
      await appendFile(file, `${JSON.stringify(line, short)}\n`);
      return result;
    },
    count: () => parts.size,
    clear: () => rm(file, { force: true }),
    commits: () => [...new Set([...parts.values()].map((line) => line.commit ?? "unknown"))],
  };
}

const short = (_key: string, value: unknown): unknown => (typeof value === "number" ? significant(value) : value);

function lineOf(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Partial<Line> | null;
    return typeof line?.settings === "string" && typeof line.name === "string" ? (line as Line) : undefined;
  } catch {
    return undefined;
  }
}
