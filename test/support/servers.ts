// The embedded servers of a test's own stack, taken away: killed and kept from coming back, hung,
// and waited for until they answer again.
import { setTimeout as sleep } from "node:timers/promises";
import { attachStack, stackStatus } from "../../stack/attach.ts";
import type { ServerName } from "../../stack/server.ts";

/** Rejects where it does not run. */
export async function pidOf(folder: string, name: ServerName | "supervisor"): Promise<number> {
  const status = await stackStatus(folder);
  const pid = name === "supervisor" ? status.supervisor : status.servers.find((server) => server.name === name)?.pid;
  if (pid === undefined) throw new Error(`${name} does not run: ${JSON.stringify(status)}`);
  return pid;
}

/**
 * Resolves when all servers answer; with the pid of a killed server, only when another process has
 * taken its place.
 */
export async function serversReady(folder: string, killed?: { name: ServerName; pid: number }): Promise<void> {
  // Until the supervisor has seen the end of a process, its state still calls it ready.
  for (const end = Date.now() + 180_000; killed !== undefined; await sleep(50)) {
    const pid = await pidOf(folder, killed.name).catch(() => undefined);
    if (pid !== undefined && pid !== killed.pid) break;
    if (Date.now() > end) throw new Error(`${killed.name} was not started again within 180 s`);
  }
  await attachStack(folder, { start: false });
}

/** Kills a server and keeps the supervisor from bringing it back until `work` is over. */
export async function withoutServer(folder: string, name: ServerName, work: () => Promise<unknown>): Promise<void> {
  const supervisor = await pidOf(folder, "supervisor");
  const pid = await pidOf(folder, name);
  process.kill(supervisor, "SIGSTOP");
  try {
    process.kill(pid, "SIGKILL");
    await work();
  } finally {
    process.kill(supervisor, "SIGCONT");
  }
  await serversReady(folder, { name, pid });
}

/** It takes connections and answers nothing until `work` is over. */
export async function withServerHung(folder: string, name: ServerName, work: () => Promise<unknown>): Promise<void> {
  const pid = await pidOf(folder, name);
  process.kill(pid, "SIGSTOP");
  try {
    await work();
  } finally {
    process.kill(pid, "SIGCONT");
  }
}
