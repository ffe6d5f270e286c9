// precedent doctor: what is installed, what is missing, and how to get it. Starts nothing, and
// changes nothing without --repair.
import type { Command } from "commander";
import pc from "./colors.ts";
import { messageOf } from "../connections/errors.ts";
import { loadConfig } from "../config/load.ts";
import { probeReplicas } from "../arms/probe-replicas.ts";
import { missingFiles } from "../config/files.ts";
import { pathText } from "../config/problems.ts";
import type { ArmConfig } from "../config/schema.ts";
import { isEndpoint, isInline } from "../config/sections/arms.ts";
import { describePrices } from "./describe-prices.ts";
import type { Check } from "./doctor-check.ts";
import { connectionChecks } from "./doctor-connections.ts";
import { folderCheck } from "./doctor-folder.ts";
import { machineChecks } from "./doctor-machine.ts";
import { describeNext } from "./examples-replay-show.ts";
import { scheduleOf } from "../pipelines/replay/schedule.ts";
import { CommandError, type Io } from "./io.ts";

export function addDoctor(program: Command, io: Io): void {
  program
    .command("doctor")
    .description("what is there, what is missing and how to get it; exit code 1 when something needed is missing")
    .option("--json", "as JSON")
    .option("--repair", "end transactions that hang, as their coordinators recorded them (needs ClusterAction)")
    .action(async ({ json, repair = false }: { json?: boolean; repair?: boolean }, command: Command) => {
      const checks = await examine(command.optsWithGlobals<{ config?: string }>().config, io, repair);
      io.out(json === true ? `${JSON.stringify(checks, null, 2)}\n` : describeChecks(checks));
      const missing = checks.filter(({ state }) => state === "missing");
      if (missing.length > 0) throw new CommandError(`missing or wrong: ${missing.map(({ name }) => name).join(", ")}`);
    });
}

async function examine(file: string | undefined, io: Io, repair: boolean): Promise<Check[]> {
  try {
    const { config, file: found } = loadConfig({ file, cwd: io.cwd, environment: io.environment });
    // machineChecks says it of models and recorded answers.
    const lost = missingFiles(config).flatMap(({ path, what }): Check[] =>
      ["file", "model"].includes(String(path.at(-1))) ? [] : [{ name: pathText(path), state: "missing", detail: what }],
    );
    const arms = config.arms
      .map((arm) => `${arm.name} (${arm.type}${isInline(arm) ? ", inline: called by plan" : ""})`)
      .join(", ");
    const good: Check = { name: "config", state: "fine", detail: `${found ?? "no file, the defaults"}: arms ${arms}` };
    const exampleReplay: Check = { name: "example replay", state: "fine", detail: describeNext(config, Date.now()) };
    const schedule = scheduleOf(config) === undefined ? [] : [exampleReplay];
    const priced = describePrices(config.arms);
    const prices: Check = { name: "prices", state: "fine", detail: `per million tokens; ${priced.join("; ")}` };
    return [
      good,
      ...(priced.length > 0 ? [prices] : []),
      ...lost,
      ...schedule,
      await folderCheck(config.stack.folder),
      ...(await machineChecks(config, io.environment)),
      ...(await Promise.all(config.arms.map(endpointChecks))).flat(),
      ...(await connectionChecks(config, { repair })),
    ];
  } catch (error) {
    const detail = messageOf(error);
    return [
      { name: "config", state: "missing", detail, remedy: "correct it; precedent config check says when it is right" },
    ];
  }
}

async function endpointChecks(arm: ArmConfig, index: number): Promise<Check[]> {
  if (!isEndpoint(arm)) return [];
  const found = await probeReplicas(arm);
  return found.map(({ of, ...check }) => ({ name: `arms[${index}] ${arm.name} ${of}`.trimEnd(), ...check }));
}

const marks: Readonly<Record<Check["state"], string>> = {
  fine: pc.green("✓"),
  missing: pc.red("✗"),
  lacking: pc.yellow("!"),
  waiting: pc.dim("·"),
};

export function describeChecks(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap(({ name, state, detail, remedy }) => {
    const [first = "", ...more] = detail.split("\n");
    const margin = " ".repeat(width + 4);
    return [
      `${marks[state]} ${name.padEnd(width)}  ${first}`,
      ...more.map((line) => `${margin}${line}`),
      ...(state === "fine" || remedy === undefined ? [] : [`${margin}→ ${remedy}`]),
    ];
  });
  return `${lines.join("\n")}\n`;
}
