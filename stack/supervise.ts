// Runs the three servers of a stack folder: one owner, leftovers ended first, former ports and
// token kept, dead servers restarted, stack.json updated.
import { randomBytes } from "node:crypto";
import { renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { clickhouseServer, curlConfiguration } from "./clickhouse.ts";
import { stackFolder, type StackFolder } from "./folder.ts";
import { kafkaServer } from "./kafka.ts";
import { readHolder, withMutex, writeHolder } from "../connections/process/lock.ts";
import { boundLogs, turnOverAll } from "./logs.ts";
import { createPortKeeper, freePort } from "./ports.ts";
import { keepFilesPrivate, makePrivate } from "./private.ts";
import { end, self } from "./process.ts";
import { registryServer } from "./registry.ts";
import { keepRunning, type RunningServer, type ServerEvents, type ServerName, type ServerSpec } from "./server.ts";
import { readState, readStateOr, writePrivately, writeState, type StackState } from "./state.ts";

export interface SuperviseOptions {
  folder: string;
  /** Folder with kafka/ and registry/, as ensureServers() makes it. */
  servers: string;
  log(message: string, details?: object): void;
  /** Called when a server was given up; the caller stops the rest. */
  failed(reason: string): void;
}

export type Stack = Awaited<ReturnType<typeof supervise>>;

export class StackRunsAlready extends Error {
  override name = "StackRunsAlready";
}

const names: ServerName[] = ["kafka", "registry", "clickhouse"];

/** Throws StackRunsAlready when another living supervisor owns the folder. */
export async function supervise({ folder, servers, log, failed }: SuperviseOptions) {
  const paths = stackFolder(folder);
  keepFilesPrivate();
  await takeFolder(paths, log);
  await makePrivate(paths.root);
  const last = readState(paths.state);
  if (last !== undefined) await endLeftovers(last, log);
  await turnOverAll(paths.logs, names);

  const before = (name: ServerName): number | undefined => last?.servers[name].port;
  const fresh = (name: ServerName) => ({ port: before(name), status: "starting" as const, restarts: 0 });
  const state: StackState = {
    supervisor: self(),
    startedAt: new Date().toISOString(),
    token: last?.token ?? randomBytes(24).toString("base64url"),
    controllerPort: last?.controllerPort,
    servers: { kafka: fresh("kafka"), registry: fresh("registry"), clickhouse: fresh("clickhouse") },
  };
  const write = (): void => {
    writeState(paths.state, state);
    if (state.servers.clickhouse.port !== undefined)
      writePrivately(paths.curl, curlConfiguration(state.servers.clickhouse.port, state.token));
  };
  write();

  const others = (name: ServerName): number[] =>
    names.filter((other) => other !== name).flatMap((other) => state.servers[other].port ?? []);
  const ports = createPortKeeper();
  const port = async (name: ServerName): Promise<number> => {
    const chosen = await ports.portFor(name, before(name), [...others(name), ...some(state.controllerPort)]);
    state.servers[name].port = chosen;
    return chosen;
  };
  const specs: ServerSpec[] = [
    kafkaServer({
      servers,
      folder: join(paths.data, "kafka"),
      async ports() {
        const broker = await port("kafka");
        // Only the broker uses this port.
        state.controllerPort = await freePort(state.controllerPort, [broker, ...others("kafka")]);
        return { port: broker, controllerPort: state.controllerPort };
      },
    }),
    registryServer({ servers, folder: join(paths.data, "registry"), port: () => port("registry") }),
    clickhouseServer({
      folder: join(paths.data, "clickhouse"),
      token: state.token,
      port: () => port("clickhouse"),
    }),
  ];

  const events: ServerEvents = {
    started(name, identity) {
      state.servers[name].process = identity;
      write();
      log(`${name} started`, { pid: identity.pid, port: state.servers[name].port });
    },
    ready(name, tookMs) {
      ports.keep(name);
      state.servers[name].status = "ready";
      write();
      log(`${name} is ready`, { tookMs: Math.round(tookMs) });
    },
    died(name, how, nextInMs) {
      const server = state.servers[name];
      server.status = "restarting";
      server.restarts += 1;
      delete server.process;
      write();
      log(`${name} ${how}: starting it again`, { nextInMs, restarts: server.restarts });
    },
    gaveUp(name, reason) {
      state.servers[name].status = "failed";
      write();
      log(reason);
      failed(reason);
    },
  };
  const running: RunningServer[] = specs.map((spec) =>
    keepRunning(spec, { logFile: join(paths.logs, `${spec.name}.log`), readyWithinMs: 120_000, attempts: 4 }, events),
  );
  const logTimer = setInterval(() => void boundLogs(paths.logs).catch(() => undefined), 10_000);

  return {
    ready: Promise.all(running.map(({ firstReady }) => firstReady)).then(() => undefined),
    /** Ends the servers (Kafka gets 20 s) and gives the folder free. */
    async stop(failure?: string): Promise<void> {
      clearInterval(logTimer);
      await Promise.all(running.map((server) => server.stop()));
      for (const name of names) {
        if (state.servers[name].status !== "failed") state.servers[name].status = "stopped";
        delete state.servers[name].process;
      }
      if (failure !== undefined) state.failure = failure;
      write();
      await rm(paths.lock, { force: true });
    },
  };
}

async function takeFolder(paths: StackFolder, log: SuperviseOptions["log"]): Promise<void> {
  await withMutex(paths.root, "supervisor", async () => {
    const holder = await readHolder(paths.lock);
    if (holder !== undefined)
      throw new StackRunsAlready(
        `a stack runs on ${paths.root} already (supervisor ${holder.pid}): attach to it, or stop it with "precedent stack stop"`,
      );
    // Before there is a holder: from then on clients read it.
    readStateOr(paths.state, ({ message }) => {
      log("the last state is put aside: servers that are left of the last stack must be ended by hand", { message });
      renameSync(paths.state, `${paths.state}.unreadable`);
    });
    await writeHolder(paths.lock, { ...self(), uses: ["supervisor"] });
  });
}

/** Stops servers that outlived a killed supervisor. */
async function endLeftovers(last: StackState, log: SuperviseOptions["log"]): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      const left = last.servers[name].process;
      if (left === undefined) return;
      await end(left, 10_000);
      log(`ended what was left of ${name}`, { pid: left.pid });
    }),
  );
}

function some<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
