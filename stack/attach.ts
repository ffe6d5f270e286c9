// Attaches to the embedded stack of a folder, or starts it and waits. Any number of processes at
// once; one supervisor comes of it.
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { clickhouseUrl, clickhouseUser } from "./clickhouse.ts";
import { makeWritable, stackFolder, type StackFolder } from "./folder.ts";
import { ensureServers } from "./install.ts";
import { readHolder, withMutex, type Holder } from "../connections/process/lock.ts";
import { logTail, openLog } from "./logs.ts";
import { isAlive } from "../connections/process/identity.ts";
import { end, gone, projectFolder, script, signal } from "./process.ts";
import { registryUrl } from "./registry.ts";
import type { ServerName } from "./server.ts";
import { isReady, readState, readStateOr, type StackState } from "./state.ts";

export interface StackInfo {
  folder: string;
  brokers: string[];
  registryUrl: string;
  /** The user that may write, with the write token; tokens.ts derives that of readers. */
  clickhouse: { url: string; username: string; password: string };
}

export interface AttachOptions {
  /** Whether to start a stack that does not run; otherwise that is an error. */
  start: boolean;
  /** Called with each step of a start. */
  say?: ((step: string) => void) | undefined;
}

/** Until it must be ready, downloads not counted: a busy machine starts Java slowly. */
const withinMs = 180_000;

export interface StackStatus {
  folder: string;
  running: boolean;
  ready: boolean;
  supervisor?: number;
  startedAt?: string;
  servers: { name: ServerName; status: string; port?: number; pid?: number; restarts: number; log: string }[];
  /** Why the last stack ended, if it broke, or why nothing is known of this one. */
  failure?: string;
}

/** Throws when there is no stack, it breaks, or it is not ready in time. */
export async function attachStack(folder: string, { start, say }: AttachOptions): Promise<StackInfo> {
  const paths = stackFolder(folder);
  if ((await readHolder(paths.lock)) === undefined) {
    if (!start)
      throw new NothingRuns(
        `no stack runs on ${paths.root}: start the whole system with "precedent up", the servers alone with "precedent stack start"`,
      );
    await makeWritable(paths.root);
    say?.(`starting Kafka, the registry and ClickHouse on ${paths.root}`);
    await ensureServers(folder, say);
    await withMutex(paths.root, "start", () => startSupervisor(paths), withinMs);
  } else say?.(`servers run already on ${paths.root}`);
  return waitUntilReady(paths, say);
}

/** Neither the embedded stack nor any stage runs. */
export class NothingRuns extends Error {
  override name = "NothingRuns";
}

/** Waits until all is gone; false: none ran. Kills a hanging supervisor after 60 s. */
export async function stopStack(folder: string): Promise<boolean> {
  const paths = stackFolder(folder);
  const holder = await readHolder(paths.lock);
  const left = Object.values(readStateOr(paths.state, () => undefined)?.servers ?? {}).flatMap(
    (server) => server.process ?? [],
  );
  if (holder !== undefined && signal(holder, "SIGTERM") && !(await gone(holder, 60_000))) signal(holder, "SIGKILL");
  // Servers of a supervisor that was killed.
  const alive = left.filter(isAlive);
  await Promise.all(alive.map((server) => end(server, 20_000)));
  return holder !== undefined || alive.length > 0;
}

export async function stackStatus(folder: string): Promise<StackStatus> {
  const paths = stackFolder(folder);
  const holder = await readHolder(paths.lock);
  let unreadable: string | undefined;
  const state = readStateOr(paths.state, ({ message }) => (unreadable = message));
  const current = holder !== undefined && state?.supervisor.pid === holder.pid;
  const servers = (["kafka", "registry", "clickhouse"] as const).map((name) => {
    const server = state?.servers[name];
    const alive = server?.process !== undefined && isAlive(server.process);
    return {
      name,
      status: current && server !== undefined ? server.status : alive ? "without a supervisor" : "stopped",
      ...(server?.port === undefined ? {} : { port: server.port }),
      ...(alive ? { pid: server.process?.pid ?? 0 } : {}),
      restarts: server?.restarts ?? 0,
      log: join(paths.logs, `${name}.log`),
    };
  });
  const failure = unreadable ?? state?.failure;
  return {
    folder: paths.root,
    running: holder !== undefined,
    ready: current && isReady(state),
    ...(holder === undefined ? {} : { supervisor: holder.pid }),
    ...(current ? { startedAt: state.startedAt } : {}),
    servers,
    ...(failure === undefined ? {} : { failure }),
  };
}

/** Runs under the mutex "start": another process may have been quicker. */
async function startSupervisor(paths: StackFolder): Promise<void> {
  if ((await readHolder(paths.lock)) !== undefined) return;
  await mkdir(paths.logs, { recursive: true });
  const log = openLog(join(paths.logs, "supervisor.log"));
  const child = spawn(
    process.execPath,
    [...script("supervisor.ts"), "--folder", paths.root],
    // A session of its own: it outlives us and our terminal.
    { cwd: projectFolder, detached: true, stdio: ["ignore", log, log] },
  );
  closeSync(log);
  let failed: string | undefined;
  child.once("error", (error) => (failed = error.message));
  child.once("exit", (code, name) => (failed ??= `ended with ${code === null ? String(name) : `code ${code}`}`));
  child.unref();
  while ((await readHolder(paths.lock)) === undefined) {
    if (failed !== undefined)
      throw new Error(`the stack's supervisor ${failed}:\n${await logTail(join(paths.logs, "supervisor.log"))}`);
    await delay(25);
  }
}

async function waitUntilReady(paths: StackFolder, say?: (step: string) => void): Promise<StackInfo> {
  const limit = performance.now() + withinMs;
  let holder: Holder | undefined;
  const reported = new Map<string, string>();
  for (;;) {
    const state = readState(paths.state);
    holder = await readHolder(paths.lock);
    if (holder?.pid === state?.supervisor.pid)
      for (const [name, { status, restarts }] of Object.entries(state?.servers ?? {})) {
        const words =
          status === "restarting" ? `restarting, time ${restarts}: ${join(paths.logs, `${name}.log`)}` : status;
        if (words !== "starting" && reported.get(name) !== words) say?.(`${name}: ${words}`);
        reported.set(name, words);
      }
    if (state !== undefined && holder?.pid === state.supervisor.pid && isReady(state)) return stackInfo(paths, state);
    if (holder === undefined)
      throw new Error(
        `the stack on ${paths.root} ended before it was ready: ${state?.failure ?? `see ${join(paths.logs, "supervisor.log")}`}`,
      );
    if (performance.now() > limit) {
      const waiting = Object.entries(state?.servers ?? {}).filter(([, server]) => server.status !== "ready");
      const which = waiting.map(([name, server]) => `${name} is ${server.status}`).join(", ");
      throw new Error(
        `the stack on ${paths.root} is not ready after ${Math.round(withinMs / 1000)} s (${which}): see ${paths.logs}`,
      );
    }
    await delay(50);
  }
}

function stackInfo(paths: StackFolder, { servers, token }: StackState): StackInfo {
  const { kafka, registry, clickhouse } = servers;
  if (kafka.port === undefined || registry.port === undefined || clickhouse.port === undefined)
    throw new Error(`${paths.state} names no ports: stop the stack and start it again`);
  return {
    folder: paths.root,
    brokers: [`127.0.0.1:${kafka.port}`],
    registryUrl: registryUrl(registry.port),
    clickhouse: { url: clickhouseUrl(clickhouse.port), username: clickhouseUser, password: token },
  };
}
