// precedent up: runs all stages in this process, or one of them, until a signal or an error.
import { once } from "node:events";
import type { Command } from "commander";
import type { Config } from "../config/schema.ts";
import { armsOf } from "../config/load.ts";
import { tenantsOf } from "../config/tenants.ts";
import { startHealthServer } from "../runtime/metrics/health.ts";
import { createLog } from "../runtime/log.ts";
import type { Io } from "./io.ts";
import { endByBugs, isKeptRunning, keepRunning } from "./keep-running.ts";
import { configOf, parseNames } from "./options.ts";
import { openSession } from "../pipelines/session.ts";
import { allStageNames, stagesOf, startStages, type StageName } from "../pipelines/up.ts";

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
      const { config } = configOf(command, io);
      // A single stage is kept running by what started it, as any service is.
      if (options.stage?.length !== 1 && !isKeptRunning(io))
        return keepRunning(io, createLog({ level: config.log.level }));
      await runUntilStopped(
        { ...config, instance: options.instance ?? config.instance },
        options.stage,
        io,
        () => configOf(command, io).config,
      );
    });
}

async function runUntilStopped(
  config: Config,
  named: readonly StageName[] | undefined,
  io: Io,
  reread: () => Config,
): Promise<void> {
  const log = createLog({ level: config.log.level });
  const stages = named ?? stagesOf(config);
  endByBugs(log, stages);
  const session = await openSession(config, { log });
  try {
    const running = await startStages(session, named === undefined ? {} : { stages: named });
    /** Arms and tenants alone can change; a configuration that is wrong changes nothing. */
    const reload = async (): Promise<void> => {
      const attempt = async (
        what: string,
        names: (config: Config) => string[],
        replace: (config: Config) => unknown,
      ) => {
        try {
          const next = reread();
          await replace(next);
          log.info({ [what]: names(next) }, `${what} reloaded`);
        } catch (error) {
          log.error({ err: error }, `the ${what} stay as they are`);
        }
      };
      await attempt("arms", armsOf, ({ arms }) => running.replaceArms(arms));
      await attempt("tenants", tenantsOf, ({ tenants }) => running.replaceTenants(tenants));
    };
    const health = await startHealthServer({
      ...config.http,
      registry: session.metrics,
      stages: running.reports,
      stuck: session.kafka.stuck,
      stalledAfterMs: config.health.stalledAfterMs,
      onError: (error) => log.error({ err: error }, "the server of health and metrics failed outside of a request"),
    });
    log.info({ stages, metrics: `${health.url}/metrics`, health: `${health.url}/healthz` }, "running");
    process.on("SIGHUP", () => {
      void reload();
    });
    if (!io.signal.aborted) await once(io.signal, "abort");
    process.removeAllListeners("SIGHUP");
    log.info("stopping");
    await running.stop();
    await health.close();
  } finally {
    await session.close();
  }
}
