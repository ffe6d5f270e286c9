// Files of other systems as lines of JSON, read by ClickHouse (Parquet, CSV with a header): in a
// process of its own, row by row, however large the file.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

export type FileFormat = "Parquet" | "CSVWithNames";

const fileHere = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Rejects with what ClickHouse says is wrong with the file. */
export function convertFile(format: FileFormat, from: string, to: string, signal: AbortSignal): Promise<void> {
  const scripts = ["../tools/bin/run.mjs", "./facade/convert-worker.ts"].map(fileHere);
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...scripts, format, from, to],
      { signal, cwd: fileHere("..") },
      (error, _out, reported) => {
        if (error === null) resolve();
        else reject(signal.aborted ? error : new Error(`${from}: ${reported.trim().split("\n")[0] ?? error.message}`));
      },
    );
  });
}
