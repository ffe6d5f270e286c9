// precedent experiments: the figures of each variant and the verdicts against the control.
import type { Command } from "commander";
import { describeVerdict } from "../algorithms/off-policy/variant-verdict.ts";
import { readExperiments } from "../gateway/page/data/experiments.ts";
import type { ExperimentVariant } from "../gateway/page/data/types/policies.ts";
import type { Io } from "./io.ts";
import { tableOf, withClickHouse } from "./reading.ts";

export function addExperiments(program: Command, io: Io): void {
  program
    .command("experiments")
    .description("compare the variants of experiments with their control; a verdict holds at any time")
    .argument("[name]", "one experiment; all by default")
    .option("--json", "as JSON")
    .action(async (name: string | undefined, options: { json?: boolean }, command: Command) => {
      const found = await withClickHouse(command, io, (clickhouse) => readExperiments(clickhouse, name));
      if (options.json === true) io.out(`${JSON.stringify(found, null, 2)}\n`);
      else if (found.length > 0) io.out(describe(found));
      else
        io.note(
          `${name === undefined ? "no answer of an experiment" : `no answer of the experiment ${name}`} is recorded yet\n`,
        );
    });
}

const figure = (value: number | null, digits = 3): string => (value === null ? "" : value.toFixed(digits));

function describe(found: readonly ExperimentVariant[]): string {
  const rows = found.map((one) => [
    ...[one.experiment, one.variant, one.units, one.ratedUnits, one.requests, one.unanswered],
    ...[figure(one.reward), figure(one.cost, 6), figure(one.totalMs, 0)],
  ]);
  const head = ["experiment", "variant", "units", "rated", "requests", "unanswered", "reward", "cost", "ms"];
  const sentences = found
    .filter(({ verdict }) => verdict !== "control")
    .map((one) => `${one.experiment}: ${describeVerdict(one)}\n`);
  return `${tableOf(head, rows)}${sentences.join("")}`;
}
