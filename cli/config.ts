// precedent config check: what is wrong with the configuration, before anything is started.
import type { Command } from "commander";
import { armsOf } from "../config/load.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";

export function addConfig(program: Command, io: Io): void {
  program
    .command("config")
    .description("the configuration")
    .command("check")
    .description("read it whole and list every problem")
    .action((_options, command: Command) => {
      const { config, file } = configOf(command, io);
      const where = (name: string, configured: boolean): string => `${name} ${configured ? "configured" : "embedded"}`;
      const servers = [
        where("kafka", config.kafka.brokers !== undefined),
        where("registry", config.registry.url !== undefined),
        where("clickhouse", config.clickhouse.url !== undefined),
      ];
      io.out(`${file ?? "no file: the defaults"}: fine\narms: ${armsOf(config).join(", ")}\n${servers.join(", ")}\n`);
    });
}
