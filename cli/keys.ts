// precedent keys: the gateway's API keys. The topic `keys` has hashes of secrets; a key is printed
// once, when it is made. Gateways follow the topic.
import type { Command } from "commander";
import { armsOf } from "../config/load.ts";
import { limitProblem, ownerOf, problemOf, type Changes, type Grants } from "../gateway/keys/grants.ts";
import { createKey, KeyRefused, readKeys, revokeKeys, rotateKey, updateKey } from "../gateway/keys/manage.ts";
import { readSpent } from "../gateway/keys/spent.ts";
import { describeKeys } from "./describe-keys.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { configOf, orNone, parseAmount, parseCount, parseDuration, parseNames } from "./options.ts";
import { jsonLines } from "./reading.ts";
import { printWithKafka } from "./with-session.ts";

/** Rejects with UsageError or CommandError in place of KeyRefused. */
async function orProblem<T>(act: Promise<T>): Promise<T> {
  try {
    return await act;
  } catch (error) {
    if (!(error instanceof KeyRefused)) throw error;
    throw error.isWrong ? new UsageError(error.message) : new CommandError(error.message);
  }
}

export function addKeys(program: Command, io: Io): void {
  const keys = program.command("keys").description("who may use the gateway, and as which tenant");

  keys
    .command("create")
    .description("make a key and print it, this once; from the first one on every request needs a key")
    .option("-t, --tenant <name>", "whose requests they are (default: default)")
    .option("--admin", "for operators: looks into all tenants, and makes no requests")
    .option("--label <text>", "what it is for", "")
    .option("-a, --arm <names>", "arms that it may use, separated by commas; any by default", parseNames())
    .option("-d, --domain <names>", "domains that it may use, separated by commas; any by default", parseNames())
    .option("--requests-per-minute <count>", "over all gateways; no limit by default", parseCount)
    .option("--tokens-per-minute <count>", "of prompts and answers, over all gateways; no limit by default", parseCount)
    .option(
      "--spend-limit-per-day <amount>",
      "what it may cost, in the prices' currency; no limit by default",
      parseAmount,
    )
    .option("--spend-limit-per-month <amount>", "the same a month, of UTC", parseAmount)
    .action(async (grants: Grants, command: Command) => {
      const problem = problemOf(grants, armsOf(configOf(command, io, { callsArms: false }).config));
      if (problem !== null) throw new UsageError(problem);
      await printWithKafka(command, io, async (session) => {
        const arms = armsOf(session.config);
        const isFirst = (await readKeys(session)).length === 0;
        const { key, text } = await orProblem(createKey(session, grants, { arms, now: Date.now() }));
        io.note(`${key.id} ${ownerOf(key)}: this is shown once\n`);
        if (isFirst && grants.admin !== true)
          io.note("every request needs a key from now on, and the page an admin key: precedent keys create --admin\n");
        return `${text}\n`;
      });
    });

  keys
    .command("update")
    .description("change the limits of a key, which stays the same; what is not named stays, too")
    .argument("<id>", "which; the part of a key before its dot")
    .option("--requests-per-minute <count>", "a number, or none", orNone(parseCount))
    .option("--tokens-per-minute <count>", "a number, or none", orNone(parseCount))
    .option("--spend-limit-per-day <amount>", "an amount, or none", orNone(parseAmount))
    .option("--spend-limit-per-month <amount>", "an amount, or none", orNone(parseAmount))
    .action(async (id: string, changes: Changes, command: Command) => {
      const problem = Object.keys(changes).length === 0 ? "name a limit to change" : limitProblem(changes);
      if (problem !== null) throw new UsageError(problem);
      await printWithKafka(command, io, async (session) => {
        const { id: known } = await orProblem(updateKey(session, id, changes, Date.now()));
        return `updated ${known}\n`;
      });
    });

  keys
    .command("list")
    .description("keys, what they may do and what they have spent; never their secrets")
    .option("-t, --tenant <name>", "of this tenant alone")
    .option("--json", "one a line, as JSON")
    .action(async ({ tenant, json }: { tenant?: string; json?: boolean }, command: Command) => {
      await printWithKafka(command, io, async (session) => {
        const found = (await readKeys(session)).filter((key) => tenant === undefined || key.tenant === tenant);
        const spent = await readSpent(session.clickhouse, found, Date.now());
        if (json !== true) return describeKeys(found, Date.now(), spent);
        return jsonLines(found.map((key) => ({ ...key, hash: undefined, spent: spent?.(key) ?? null })));
      });
    });

  keys
    .command("revoke")
    .description("refuse keys from now on, for good")
    .argument("<id...>", "which; the part of a key before its dot")
    .action(async (ids: string[], _options: object, command: Command) => {
      await printWithKafka(command, io, async (session) => {
        const found = await orProblem(revokeKeys(session, ids, { now: Date.now() }));
        return `revoked ${found.map(({ id }) => id).join(", ")}\n`;
      });
    });

  keys
    .command("rotate")
    .description("make a key that may do the same and print it; the old one is revoked")
    .argument("<id>", "which; the part of a key before its dot")
    .option("--overlap <time>", "the old key is refused only after so long, such as 90s or 10m", parseDuration)
    .action(async (id: string, { overlap }: { overlap?: number }, command: Command) => {
      await printWithKafka(command, io, async (session) => {
        const { key, old, text } = await orProblem(rotateKey(session, id, { now: Date.now(), overlap }));
        io.note(`${key.id} ${ownerOf(old)} follows ${old.id}: this is shown once\n`);
        return `${text}\n`;
      });
    });
}
