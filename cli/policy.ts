// precedent policy show|history|revert|resume|pin: what was learnt, since when, and the way back.
// evaluate, compare and promote stand in policy-evaluate.ts.
import type { Command } from "commander";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import { policiesOf } from "../pipelines/policies.ts";
import { policyHistory } from "../state/policies/history.ts";
import { pinName, pinPolicy } from "../state/policies/pin.ts";
import { resumePolicy, revertPolicy } from "../state/policies/revert.ts";
import { ROUTER } from "../state/policies/router.ts";
import { describeHistory, describePolicy } from "./describe-policy.ts";
import { CommandError, type Io } from "./io.ts";
import { parseCount } from "./options.ts";
import { addPolicyEvaluation } from "./policy-evaluate.ts";
import { printWithSession } from "./with-session.ts";

export function addPolicy(program: Command, io: Io): void {
  const policy = program.command("policy").description("what was learnt: versions of the router policy and others");

  policy
    .command("show")
    .description("the newest version, or one of the history")
    .argument("[name]", "which policy", ROUTER)
    .argument("[version]", "which version", parseCount)
    .option("--json", "the whole record")
    .action(async (name: string, version: number | undefined, { json }: { json?: boolean }, command: Command) => {
      await printWithSession(command, io, async ({ clickhouse }) => {
        const [found] = await policyHistory(clickhouse, name, {
          limit: 1,
          ...(version === undefined ? {} : { version }),
        });
        if (found === undefined) throw new CommandError((await onItsWay(clickhouse, name)) ?? missing(name, version));
        return json === true ? `${JSON.stringify(found, null, 2)}\n` : describePolicy(found);
      });
    });

  policy
    .command("history")
    .description("versions, newest first")
    .argument("[name]", "which policy", ROUTER)
    .option("-n, --limit <count>", "how many", parseCount, 20)
    .action(async (name: string, { limit }: { limit: number }, command: Command) => {
      await printWithSession(command, io, async ({ clickhouse }) => {
        const versions = await policyHistory(clickhouse, name, { limit });
        if (versions.length === 0) throw new CommandError(missing(name));
        return describeHistory(versions);
      });
    });

  policy
    .command("revert")
    .description("publish an old version again, as the newest; learning of this policy then pauses until it is resumed")
    .argument("<name>", "which policy")
    .argument("[version]", "the version to go back to; by default the one before the newest", parseCount)
    .action(async (name: string, version: number | undefined, _options, command: Command) => {
      await printWithSession(command, io, async (session) => {
        const made = await revertPolicy(policiesOf(session), name, version, Date.now());
        return `${name} ${made.version} repeats ${made.revertOf}; learning is paused: precedent policy resume ${name}\n`;
      });
    });

  policy
    .command("resume")
    .description("let learning go on after a revert")
    .argument("<name>", "which policy")
    .action(async (name: string, _options, command: Command) => {
      await printWithSession(command, io, async (session) => {
        const made = await resumePolicy(policiesOf(session), name, Date.now());
        return `${name} ${made.version} stands until something newer is learnt\n`;
      });
    });

  policy
    .command("pin")
    .description("hold a version of the router beside the newest, for variants of experiments that name it")
    .argument("<version>", "which version of the router", parseCount)
    .action(async (version: number, _options, command: Command) => {
      await printWithSession(command, io, async (session) => {
        await pinPolicy(policiesOf(session), version, Date.now());
        return `${pinName(version)} is pinned: routerVersion: ${version} of a variant routes by it\n`;
      });
    });

  addPolicyEvaluation(policy, io);
}

/** A message if feedback waits for the router's first version; undefined: none waits. */
async function onItsWay(clickhouse: Pick<ClickHouse, "query">, name: string): Promise<string | undefined> {
  if (name !== ROUTER) return undefined;
  const [found] = await clickhouse.query<{ feedback: number; versions: number }>(
    "SELECT (SELECT count() FROM feedback) AS feedback, (SELECT count() FROM policies WHERE name = {name:String}) AS versions",
    { name },
  );
  if (found === undefined || found.versions > 0 || found.feedback === 0) return undefined;
  return `${name} has no version yet, and the prior decides: ${found.feedback} feedback is recorded, and learn publishes the first version within seconds; look again`;
}

const missing = (name: string, version?: number): string =>
  version === undefined
    ? `nothing is published as ${name}: give feedback (precedent feedback), and let learn and record run (precedent up)`
    : `${name} has no version ${version}: precedent policy history ${name}`;
