// precedent up: runs all stages in this process, or one of them, until a signal or an error.
import type { Command } from "commander";
import type { LoadedConfig } from "../config/load.ts";
import { createLog } from "../runtime/log.ts";
import { allStageNames, stagesOf, type StageName } from "../pipelines/up.ts";
import { makeWritable } from "../stack/folder.ts";
import type { Io } from "./io.ts";
import { isKeptRunning, keepRunning } from "./keep-running.ts";
import { configOf, parseNames } from "./options.ts";
import { runStages } from "./run-stages.ts";
import { createSteps, refuseTakenPorts } from "./start-report.ts";

interface Options {
  stage?: StageName[];
  instance?: string;
}

export function addUp(program: Command, io: Io): void {
  program
    .command("up")
    .description("run the stages; the embedded stack is started if no servers are configured and none runs")
    .option(
      "-s, --stage <names>",
      `only these, separated by commas: ${allStageNames.join(", ")}`,
      parseNames(allStageNames),
    )
    .option("-i, --instance <id>", "stable id of this process; the first free one by default")
    .action(async (options: Options, command: Command) => {
      const read = (): LoadedConfig => {
        const { config, ...loaded } = configOf(command, io);
        return { ...loaded, config: { ...config, instance: options.instance ?? config.instance } };
      };
      const { config, file } = read();
      const stages = options.stage ?? stagesOf(config);
      const { gateway, http } = config;
      await makeWritable(config.stack.folder);
      await refuseTakenPorts(stages.includes("gateway") ? { gateway, http } : { http });
      // A single stage is kept running by what started it, as any service is, and has a log alone.
      const isService = options.stage?.length === 1;
      if (!isService && !isKeptRunning(io)) return keepRunning(io, createLog({ level: config.log.level }));
      await runStages({
        ...{ config, file, named: options.stage, signal: io.signal },
        ...(isService ? {} : { out: io.out, say: createSteps(io.out) }),
        reread: () => read().config,
      });
    });
}
