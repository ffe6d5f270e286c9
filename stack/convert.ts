// Parquet by ClickHouse's own reader and writer, in a process whose memory goes with it. Files are
// handed over open: their names need no quoting, and no copy has a name.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { projectFolder, script } from "./process.ts";

function start(handle: FileHandle, parameters: readonly string[], signal: AbortSignal) {
  const child = spawn(process.execPath, [...script("facade/convert-worker.ts"), ...parameters], {
    ...{ stdio: ["ignore", "pipe", "pipe", handle.fd], cwd: projectFolder, signal },
  });
  let reported = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    if (reported.length < 4_096) reported += text;
  });
  const ended = once(child, "close").then(([code]) => {
    if (code !== 0) throw new Error(reported.trim().split("\n")[0] || `the reader ended with code ${String(code)}`);
  });
  // Awaited only where the output was read to its end.
  ended.catch(() => undefined);
  return { child, ended };
}

/** Lines of JSON in pieces, as they are read. Rejects with what ClickHouse says is wrong. */
export async function* readParquet(file: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const handle = await open(file);
  const { child, ended } = start(handle, ["read"], signal);
  try {
    yield* child.stdout! as AsyncIterable<Buffer>;
    await ended.catch((error: unknown) => {
      throw signal.aborted ? error : new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`);
    });
  } finally {
    child.kill("SIGKILL");
    await handle.close();
  }
}

/**
 * `write` gets what takes lines of JSON with these columns of ClickHouse's types. The file appears
 * whole or not at all; the lines are in a file without a name meanwhile.
 */
export async function writeParquet(
  file: string,
  columns: string,
  signal: AbortSignal,
  write: (lines: FileHandle) => Promise<void>,
): Promise<void> {
  const [lines, made] = [`${file}.lines.part`, `${file}.part`];
  // What a killed one left behind is taken over.
  const handle = await open(lines, "w+");
  try {
    await Promise.all([rm(lines), rm(made, { force: true })]);
    await write(handle);
    await start(handle, ["write", made, columns], signal).ended;
    await rename(made, file);
  } finally {
    await handle.close();
    await rm(made, { force: true });
  }
}
