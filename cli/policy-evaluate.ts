// precedent policy evaluate|compare|promote: what a policy would have earned on the logged
// decisions, against another, and putting it in force where that is good enough.
import { Option, type Command } from "commander";
import { v7 as uuid } from "uuid";
import { estimators, type Estimator } from "../algorithms/off-policy/estimators.ts";
import { policiesOf } from "../pipelines/policies.ts";
import type { Config } from "../config/schema.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { promotePolicy } from "../state/policies/promote.ts";
import { ROUTER } from "../state/policies/router.ts";
import { saveTerms } from "../analysis/off-policy/save.ts";
import { differencesOf, domainDifferences, valuesOf } from "../analysis/off-policy/values.ts";
import { describeDifferences, describeValues, estimateJson, evaluationJson } from "./describe-evaluation.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { configOf } from "./options.ts";
import { namedTarget, targetHelp, type Named } from "./policy-target.ts";
import { addWindowOptions, readWindow, valueOptions, type WindowOptions } from "./policy-window.ts";
import { withClickHouse } from "./reading.ts";
import { printWithSession } from "./with-session.ts";

interface CompareOptions extends WindowOptions {
  by: Estimator;
}

export function addPolicyEvaluation(policy: Command, io: Io): void {
  addWindowOptions(policy.command("evaluate"))
    .description("what a policy would have earned on the logged decisions (off-policy evaluation)")
    .argument("<policy>", targetHelp)
    .option("--save", "keep the terms in the table policy_terms, for SQL")
    .action(async (text: string, options: WindowOptions & { save?: boolean }, command: Command) => {
      const { config } = configOf(command, io, { callsArms: false });
      await withClickHouse(command, io, async (clickhouse) => {
        const { target } = await targetOf(text, { clickhouse, config, io });
        const read = await readWindow(options, [target], { clickhouse, config, io });
        const values = valuesOf(read, valueOptions(options));
        const described = { names: [target.name], read, values: values.values };
        const saved = options.save === true ? uuid() : null;
        if (saved !== null)
          await saveTerms({
            ...{ clickhouse, evaluation: saved, names: described.names, read, predicted: values.predicted },
            ...{ cap: options.cap, costWeight: options.costWeight, now: Date.now(), signal: io.signal },
          });
        io.out(
          options.json === true
            ? `${JSON.stringify({ ...evaluationJson(described), evaluation: saved })}\n`
            : describeValues(described) + (saved === null ? "" : `saved as evaluation ${saved}\n`),
        );
      });
    });

  addWindowOptions(policy.command("compare"))
    .description("by how much the second policy would have earned more than the first, on the same decisions")
    .argument("<a>", targetHelp)
    .argument("<b>", targetHelp)
    .addOption(byOption())
    .action(async (a: string, b: string, options: CompareOptions, command: Command) => {
      const { config } = configOf(command, io, { callsArms: false });
      await withClickHouse(command, io, async (clickhouse) => {
        const named = [await targetOf(a, { clickhouse, config, io }), await targetOf(b, { clickhouse, config, io })];
        io.out((await compared(named, options, { clickhouse, config, io })).text);
      });
    });

  addWindowOptions(policy.command("promote"))
    .description("publish a router policy if it would have earned more; learning of the router then pauses")
    .argument("<b>", "router@VERSION or a FILE.json")
    .option("--above <difference>", "publish where the lower end of the difference's interval is above it", Number, 0)
    .option("--against <policy>", `what it is compared with: ${targetHelp}`, ROUTER)
    .addOption(byOption())
    .action(async (b: string, options: CompareOptions & { above: number; against: string }, command: Command) => {
      if (Number.isNaN(options.above)) throw new UsageError("--above: a number such as 0 or 0.01");
      await printWithSession(command, io, async (session) => {
        const { clickhouse, config } = session;
        const outside = { clickhouse, config, io };
        const candidate = await targetOf(b, outside);
        const { record } = candidate;
        if (record === null)
          throw new CommandError(
            `${b} is no router policy that could be published: give router@VERSION or a FILE.json`,
          );
        const newest = (await targetOf(ROUTER, outside)).record?.version ?? 0;
        const { text, low } = await compared([await targetOf(options.against, outside), candidate], options, outside);
        io.note(options.json === true ? "" : text);
        const comparison = `lower end of the difference by ${options.by} ${low?.toPrecision(4) ?? "unknown"}, above ${options.above}`;
        if (low === null || low <= options.above) throw new CommandError(`not promoted: ${comparison} is wanted`);
        const made = await promotePolicy(policiesOf(session), { policy: record, against: newest, now: Date.now() });
        return options.json === true
          ? `${JSON.stringify({ ...(JSON.parse(text) as object), promoted: made.version })}\n`
          : `${comparison}\n${ROUTER} ${made.version} is ${b}; learning is paused: precedent policy resume ${ROUTER}\n`;
      });
    });
}

const byOption = (): Option =>
  new Option("--by <estimator>", "of the domains and of what promote asks for").choices([...estimators]).default("dr");

interface Outside {
  clickhouse: ClickHouse;
  config: Config;
  io: Io;
}

const targetOf = (text: string, { clickhouse, config, io }: Outside): Promise<Named> =>
  namedTarget(text, { clickhouse, arms: config.arms.map(({ name }) => name), cwd: io.cwd });

/** By how much the second is better than the first; low: lower end of the interval of that. */
async function compared(
  named: readonly Named[],
  options: CompareOptions,
  outside: Outside,
): Promise<{ text: string; low: number | null }> {
  const targets = named.map(({ target }) => target);
  const wanted = valueOptions(options);
  if (!wanted.estimators.includes(options.by))
    throw new UsageError(`--by ${options.by} is not among --estimators ${wanted.estimators.join(",")}`);
  const read = await readWindow(options, targets, outside);
  const values = valuesOf(read, wanted);
  const differences = differencesOf(read, values, wanted);
  const domains = domainDifferences(read, values, options.by, wanted);
  const described = { names: targets.map(({ name }) => name), read, values: values.values };
  const low = differences.find(({ estimator }) => estimator === options.by)?.interval?.low ?? null;
  if (options.json !== true) return { text: describeDifferences(described, differences, domains), low };
  const json = {
    ...evaluationJson(described),
    differences: differences.map(estimateJson),
    domains: domains.map(({ domain, decisions, difference }) => ({ domain, decisions, ...estimateJson(difference) })),
  };
  return { text: `${JSON.stringify(json)}\n`, low };
}
