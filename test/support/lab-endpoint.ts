// The lab's endpoint (../shared/lab/boundary), which answers as real ones do: the last [[name]] of
// a request picks what comes. Absent where the lab is.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../stack/ports.ts";

const lab = fileURLToPath(new URL("../../../shared/lab/boundary/", import.meta.url));
/** "": it is there. */
export const noLab = existsSync(join(lab, "mock.mjs")) ? "" : `the scenarios are not here (${lab})`;

export interface LabEndpoint {
  baseUrl: string;
  stop(): Promise<void>;
}

/** `folder`: for its log. */
export async function startLabEndpoint(folder: string): Promise<LabEndpoint> {
  const port = await freePort(undefined, []);
  const child: ChildProcess = spawn(
    process.execPath,
    [join(lab, "mock.mjs"), String(port), join(folder, "received.jsonl")],
    {
      cwd: folder,
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  if (child.stdout !== null) await once(child.stdout, "data");
  const stop = async (): Promise<void> => {
    const ended = once(child, "exit");
    child.kill();
    await ended;
  };
  return { baseUrl: `http://127.0.0.1:${port}/v1`, stop };
}
