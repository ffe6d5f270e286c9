// Whether the state folder can be written to and has room. Makes nothing.
import { statfs } from "node:fs/promises";
import { messageOf } from "../connections/errors.ts";
import { findWritable } from "../stack/folder.ts";
import type { Check } from "./doctor-check.ts";

const name = "state folder";
/** Less is soon full: segments of Kafka, snapshots of examples, caches. */
const leastBytes = 1024 ** 3;

export async function folderCheck(folder: string, least = leastBytes): Promise<Check> {
  try {
    const { bavail, bsize } = await statfs(await findWritable(folder));
    const free = `${((bavail * bsize) / 1024 ** 3).toFixed(1)} GiB free`;
    if (bavail * bsize >= least) return { name, state: "fine", detail: `${folder}: ${free}` };
    const remedy = "free some, or name a folder on another disk in stack.folder";
    return { name, state: "lacking", detail: `${folder}: ${free}`, remedy };
  } catch (error) {
    return { name, state: "missing", detail: messageOf(error), remedy: "give this user a folder that it may write to" };
  }
}
