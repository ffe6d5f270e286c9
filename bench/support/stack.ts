// The embedded stack as a benchmark uses it.
import { rm } from "node:fs/promises";
import { attachStack, stackStatus, stopStack, type StackInfo } from "../../stack/attach.ts";
import { stackFolder } from "../../stack/folder.ts";
import type { BenchContext } from "../benchmark.ts";

/**
 * Runs `work` on the stack of a folder, which begins empty: topics and tables of earlier runs would
 * only be in the way. One that runs already is shared, with what it has, and goes on afterwards.
 * keepData: it begins with what the last run left.
 */
export async function onStack<T>(
  { note, keepStack }: Pick<BenchContext, "note" | "keepStack">,
  folder: string,
  work: (stack: StackInfo) => Promise<T>,
  { keepData = false }: { keepData?: boolean } = {},
): Promise<T> {
  const { running } = await stackStatus(folder);
  if (!running && !keepData) await rm(stackFolder(folder).data, { recursive: true, force: true });
  note("starting the stack");
  const stack = await attachStack(folder, { start: true });
  try {
    return await work(stack);
  } finally {
    if (!keepStack && !running) await stopStack(folder);
  }
}

/** Process of each server, by its name. */
export async function serverPids(folder: string): Promise<Record<string, number>> {
  const { servers } = await stackStatus(folder);
  return Object.fromEntries(servers.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid]])));
}
