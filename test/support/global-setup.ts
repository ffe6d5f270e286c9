// Starts one stack for the whole integration run, in a folder of its own inside the checkout, and
// stops it at the end. Runs at the same time get folders of their own; the folder of a run that was
// killed is taken over and emptied.
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { attachStack, stopStack, type StackInfo } from "../../stack/attach.ts";
import { stackFolder } from "../../stack/folder.ts";
import { acquireInstance } from "../../stack/instance.ts";

declare module "vitest" {
  interface ProvidedContext {
    stack: StackInfo;
  }
}

const tests = resolve(fileURLToPath(new URL("../..", import.meta.url)), ".precedent", "test");

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const slot = await acquireInstance(tests, "run");
  const folder = join(tests, slot.id);
  await stopStack(folder);
  await rm(stackFolder(folder).data, { recursive: true, force: true });
  try {
    project.provide("stack", await attachStack(folder, { start: true }));
  } catch (error) {
    await stopStack(folder);
    throw error;
  }
  return async () => {
    await stopStack(folder);
    await rm(stackFolder(folder).data, { recursive: true, force: true });
    await slot.release();
  };
}
