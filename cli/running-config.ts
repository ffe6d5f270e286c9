// The configuration by which commands find the running system: the file that is named or lies in
// this folder, else the one that the system was started with. A difference is reported.
import type { Command } from "commander";
import { loadConfig } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { NothingRuns } from "../stack/attach.ts";
import { listenerOf } from "../stack/ports.ts";
import { resolveConnections, type ResolvedConnections } from "../stack/resolve.ts";
import { serversOf, untilReachable } from "../stack/reachable.ts";
import { hashOfFile, runningSystems } from "../stack/running.ts";
import { CommandError, type Io } from "./io.ts";
import { configOf } from "./options.ts";

/** callsArms: false: variables that only arms need may be unset. */
export function runningConfig(command: Command, io: Io, { callsArms = false } = {}): Config {
  const { config, file } = configOf(command, io, { callsArms });
  const systems = runningSystems(config.stack.folder);
  const [system] = systems;
  if (system === undefined) return config;
  if (file === null) {
    const running = systems.find((one) => one.file !== null)?.file;
    if (typeof running !== "string") return config;
    io.note(`reading ${running}, the configuration of the running system\n`);
    return loadConfig({ file: running, cwd: io.cwd, environment: io.environment, callsArms }).config;
  }
  const same = systems.filter((one) => one.file === file);
  if (same.length === 0)
    io.note(
      `note: this command reads ${file}, but process ${system.pid}, which runs on ${config.stack.folder}, ` +
        `was started with ${system.file ?? "the defaults"}${system.file === null ? "" : `: name that with -c`}\n`,
    );
  else if (!same.some(({ hash }) => hash === hashOfFile(file)))
    io.note(
      `note: ${file} has changed since process ${same[0]?.pid} read it: SIGHUP makes it read arms and tenants again, ` +
        `all else needs a restart\n`,
    );
  return config;
}

/** ClickHouse for commands that only read it; starts no server. */
export async function runningClickHouse(
  command: Command,
  io: Io,
): Promise<Pick<ResolvedConnections, "clickhouse" | "stack"> & { config: Config }> {
  const config = runningConfig(command, io);
  const connections = await resolveConnections(config, { start: false }).catch(whereElse(config));
  await untilReachable(serversOf(config, connections, ["clickhouse"]), tell(io));
  return { ...connections, config };
}

export const tell =
  ({ note }: Pick<Io, "note">) =>
  (line: string): void =>
    note(`${line}\n`);

/** Adds to NothingRuns which system of another folder has the gateway's port. */
export const whereElse =
  ({ gateway }: Pick<Config, "gateway">) =>
  (error: unknown): never => {
    const by = error instanceof NothingRuns && gateway.port !== 0 ? listenerOf(gateway.port) : undefined;
    if (by === undefined || !/\bprecedent\b.* up\b/.test(by)) throw error;
    throw new CommandError(
      `${(error as Error).message}; a system of another folder has port ${gateway.port}, ${by}: name its configuration with -c`,
    );
  };
