// precedent config check: what is wrong with the configuration, before anything is started.
import type { Command } from "commander";
import { armsOf } from "../config/load.ts";
import { missingFiles } from "../config/files.ts";
import type { Problem } from "../config/problems.ts";
import type { Config } from "../config/schema.ts";
import { listenerOf } from "../stack/ports.ts";
import { describePrices } from "./describe-prices.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";

export function addConfig(program: Command, io: Io): void {
  program
    .command("config")
    .description("the configuration")
    .command("check")
    .description("read it whole and list every problem")
    .action((_options, command: Command) => {
      const notes: string[] = [];
      const { config, file } = configOf(command, io, {
        more: (found) => [...missingFiles(found), ...takenPorts(found, notes)],
      });
      const where = (name: string, configured: boolean): string => `${name} ${configured ? "configured" : "embedded"}`;
      const servers = [
        where("kafka", config.kafka.brokers !== undefined),
        where("registry", config.registry.url !== undefined),
        where("clickhouse", config.clickhouse.url !== undefined),
      ];
      io.out(
        `${file ?? "no file: the defaults"}: fine\narms: ${armsOf(config).join(", ")}\n${servers.join(", ")}\n${describePrices(
          config.arms,
        )
          .map((line) => `prices of ${line}\n`)
          .join("")}${notes.join("")}`,
      );
    });
}

/** Ports to listen on that others have; one that another `precedent` has is a note. */
function takenPorts({ gateway, http }: Config, notes: string[]): Problem[] {
  return Object.entries({ gateway, http }).flatMap(([section, { port = 0 }]) => {
    const by = port === 0 ? undefined : listenerOf(port);
    if (by === undefined) return [];
    const what = `port ${port} is taken by ${by}`;
    if (!/\bprecedent\b.* up\b/.test(by))
      return [{ path: [section, "port"], what: `${what}: end that, or name another port` }];
    notes.push(`${section}.port: ${what}\n`);
    return [];
  });
}
