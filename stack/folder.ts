// What lies where in a stack folder. Deleting it is a clean slate.
import { constants, type Stats } from "node:fs";
import { access, mkdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isMissing } from "../connections/errors.ts";

export type StackFolder = ReturnType<typeof stackFolder>;

export function stackFolder(folder: string) {
  const root = resolve(folder);
  return {
    root,
    /** Link to the downloaded Java servers in the cache. */
    servers: join(root, "servers"),
    data: join(root, "data"),
    logs: join(root, "logs"),
    state: join(root, "stack.json"),
    /** What curl -K needs to ask ClickHouse: its address and the read token. */
    curl: join(root, "curlrc"),
    lock: join(root, "supervisor.lock"),
  };
}

/** Makes the folder. Throws, naming the key, where the system can't keep its state there. */
export const makeWritable = (folder: string): Promise<string> =>
  usable(folder, async (root) => {
    await mkdir(root, { recursive: true });
    return root;
  });

/** The folder, or the nearest above that is there. Throws as makeWritable does; makes nothing. */
export const findWritable = (folder: string): Promise<string> =>
  usable(folder, async (root) => {
    let top = root;
    while (top !== dirname(top) && (await found(top)) === undefined) top = dirname(top);
    return top;
  });

/** undefined: it is not there. */
const found = (path: string): Promise<Stats | undefined> =>
  stat(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    return undefined;
  });

async function usable(folder: string, find: (root: string) => Promise<string>): Promise<string> {
  const root = resolve(folder);
  const refuse = (why: string): Error =>
    new Error(`the state folder ${root} can't be used (${why}): name another one in stack.folder`);
  // Files in it are private to their owner.
  if (`${homedir()}/`.startsWith(root.endsWith("/") ? root : `${root}/`))
    throw refuse("it holds your home folder, and everything in a state folder becomes private");
  try {
    const top = await find(root);
    for (const part of [top, ...["data", "logs", "instances"].map((name) => join(top, name))]) {
      const there = part === top ? await stat(part) : await found(part);
      if (there === undefined) continue;
      if (!there.isDirectory()) throw refuse(`${part} is no folder`);
      await access(part, constants.R_OK | constants.W_OK | constants.X_OK);
    }
    return top;
  } catch (error) {
    const { code, path = root } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw refuse(`${path}: ${reasons[code] ?? code}`);
  }
}
const reasons: Readonly<Record<string, string>> = {
  EEXIST: "it is no folder",
  ENOTDIR: "a part of it is no folder",
  EACCES: "it may not be written by this user",
  EPERM: "it may not be written by this user",
  EROFS: "it is on a read-only file system",
  ENOSPC: "it is on a full disk",
};
