// precedent policy shadow: holds a router policy in shadow, lists those that are, and ends one.
// What a shadow would have chosen is logged with every decision, and nothing of it is served.
import type { Command } from "commander";
import { policiesOf } from "../pipelines/policies.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { policyHistory } from "../state/policies/history.ts";
import { endShadow, holdInShadow, isShadow, shadowNames, shadowOf } from "../state/policies/shadow.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { namedTarget } from "./policy-target.ts";
import { tableOf, withClickHouse } from "./reading.ts";
import { printWithSession } from "./with-session.ts";

export function addPolicyShadow(policy: Command, io: Io): void {
  const shadow = policy
    .command("shadow")
    .description("hold a router policy in shadow: its choices are logged with every decision, none is served")
    .argument("<policy>", "router, router@VERSION or a FILE.json")
    .action(async (text: string, _options, command: Command) => {
      await printWithSession(command, io, async (session) => {
        const { clickhouse, config } = session;
        const arms = config.arms.map(({ name }) => name);
        const { record } = await namedTarget(text, { clickhouse, arms, cwd: io.cwd });
        if (record === null)
          throw new CommandError(
            `${text} is no router policy that could be published: give router@VERSION or a FILE.json`,
          );
        const from: Record<string, number> = record.version > 0 ? { "router.version": record.version } : {};
        const made = await holdInShadow(policiesOf(session), {
          policy: { ...record, metrics: { ...record.metrics, ...from } },
          now: Date.now(),
        });
        return `${text} is held in shadow as ${made.name}, version ${made.version}: precedent policy shadow list\n`;
      });
    });

  shadow
    .command("list")
    .description("policies in shadow: agreement with what was served, and what they would have earned")
    .option("--json", "one object")
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      await withClickHouse(command, io, async (clickhouse) => {
        const held = await heldShadows(clickhouse);
        if (json === true) io.out(`${JSON.stringify({ shadows: held })}\n`);
        else
          io.out(
            held.length === 0 ? "no policy is held in shadow: precedent policy shadow router@VERSION\n" : table(held),
          );
      });
    });

  shadow
    .command("end")
    .description("end a shadow; its logged choices stay")
    .argument("<name>", shadowNames.join(" or "))
    .action(async (name: string, _options, command: Command) => {
      const slot = isShadow(name) ? name : `shadow/${name}`;
      if (!isShadow(slot)) throw new UsageError(`${name} is no shadow: ${shadowNames.join(" or ")}`);
      await printWithSession(command, io, async (session) => {
        await endShadow(policiesOf(session), slot, Date.now());
        return `${slot} has ended\n`;
      });
    });
}

interface Held {
  name: string;
  version: number;
  /** null: of a file. */
  router_version: number | null;
  since: string;
  /** Why it can't be used; null: it can. */
  problem: string | null;
  decisions: number;
  /** Share of decisions in which it chose the arm that was served; null: none yet. */
  agreement: number | null;
  rewarded: number;
  mean_reward: number | null;
  value: number | null;
  reach: number | null;
  effective: number | null;
}
type Figures = Pick<Held, "decisions" | "agreement" | "rewarded" | "mean_reward" | "value" | "reach" | "effective">;

async function heldShadows(clickhouse: ClickHouse): Promise<Held[]> {
  const newest = await Promise.all(shadowNames.map((name) => policyHistory(clickhouse, name, { limit: 1 })));
  const figures = await clickhouse.query<Figures & { policy: string; version: number }>(
    "SELECT policy, version, decisions, agreement, rewarded, mean_reward, value, reach, effective FROM shadow_values",
  );
  return newest.flat().flatMap((record): Held[] => {
    const policy = shadowOf(record);
    if (policy === null) return [];
    const { name, version } = record;
    const found = figures.find((one) => one.policy === name && one.version === version);
    return [
      {
        ...{ name, version, router_version: record.metrics["router.version"] ?? null },
        since: new Date(record.createdAt).toISOString(),
        problem: "problem" in policy ? policy.problem : null,
        ...{ decisions: found?.decisions ?? 0, agreement: found?.agreement ?? null, rewarded: found?.rewarded ?? 0 },
        ...{ mean_reward: found?.mean_reward ?? null, value: found?.value ?? null, reach: found?.reach ?? null },
        effective: found?.effective ?? null,
      },
    ];
  });
}

function table(held: readonly Held[]): string {
  const short = (value: number | null): string => (value === null ? "-" : value.toFixed(3));
  const rows = held.map((one) => [
    ...[one.name, one.router_version === null ? "a file" : `router@${one.router_version}`, one.since, one.decisions],
    ...[one.agreement === null ? "-" : `${(100 * one.agreement).toFixed(1)} %`, one.rewarded, short(one.mean_reward)],
    `${short(one.value)}${one.reach === null ? "" : ` ± ${short(one.reach)}`}`,
  ]);
  const head = ["shadow", "policy", "since", "decisions", "agreement", "rewarded", "served", "would have earned"];
  const problems = held.flatMap(({ name, problem }) =>
    problem === null ? [] : [`${name} can't be used: ${problem}\n`],
  );
  return tableOf(head, rows) + problems.join("");
}
