// precedent feedback withdraw|restore|withdrawals|sources: withdraws feedback of an author or
// period by a record on `withdrawals`; learn recomputes without it.
import type { Command } from "commander";
import { v7 as uuid } from "uuid";
import { pseudonym } from "../algorithms/privacy/placeholders.ts";
import { nameProblem } from "../algorithms/identity/names.ts";
import type { Session } from "../pipelines/session.ts";
import type { Withdrawal } from "../schemas/types.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { tableOf } from "./reading.ts";
import { printWithSession } from "./with-session.ts";
import { sendOnce } from "../runtime/send-once.ts";

export interface WithdrawInput {
  source?: string | undefined;
  author?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  tenant?: string | undefined;
  comment?: string | undefined;
}

const sources = ["person", "judge", "system"];

/** now: milliseconds since the epoch. Throws UsageError. */
export function withdrawalRecord(input: WithdrawInput, id: string, now: number): Withdrawal {
  const { source, author, tenant, comment } = input;
  if (source !== undefined && !sources.includes(source))
    throw new UsageError(`--source ${source}: one of ${sources.join(", ")}; --author names who it was within a source`);
  const problem = nameProblem({ tenant, author });
  if (problem !== null) throw new UsageError(problem);
  const since = timeOf("--from", input.from);
  const until = timeOf("--to", input.to);
  if (since !== null && until !== null && until <= since)
    throw new UsageError(`--to ${input.to ?? ""} is not after --from ${input.from ?? ""}`);
  if ([source, author, input.from, input.to].every((given) => given === undefined))
    throw new UsageError(
      "withdraw whose feedback? Name --source, --author, --from or --to (precedent feedback sources lists them)",
    );
  return {
    ...{ id, tenant: tenant ?? null, source: source ?? null, author: author ?? null, since, until },
    ...{ restores: null, comment: comment ?? null, createdAt: now },
  };
}

function timeOf(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  // Without a zone it is UTC, as times in ClickHouse are.
  const time = Date.parse(
    /(?:Z|[+-]\d\d:?\d\d)$/.test(text) || !text.includes(":") ? text : `${text.replace(" ", "T")}Z`,
  );
  if (Number.isNaN(time)) throw new UsageError(`${option} ${text}: a time such as 2026-03-01 or 2026-03-01T12:00:00Z`);
  return time;
}

export function addFeedbackWithdraw(feedback: Command, io: Io): void {
  feedback
    .command("withdraw")
    .description("let all feedback of a source, author or time count no more; prints the id by which it is restored")
    .option("--source <who>", "person, judge or system; any by default")
    .option("--author <name>", "who it was within the source; any by default")
    .option("--from <time>", "since when, by the time at which the broker got it (UTC)")
    .option("--to <time>", "until when; by default also what comes later")
    .option("-t, --tenant <name>", "of this tenant alone")
    .option("--comment <text>", "why")
    .action(async (_options: WithdrawInput, command: Command) => {
      const record = withdrawalRecord(givenTo(command), uuid(), Date.now());
      await printWithSession(command, io, async (session) => {
        const records = await underAllNames(session, record);
        for (const one of records) await publish(session, one);
        return records.map(({ id }) => `${id}\n`).join("");
      });
    });

  feedback
    .command("restore")
    .description("let feedback count again that was withdrawn by its source or time")
    .argument("<withdrawal-id>", "which withdrawal")
    .option("--comment <text>", "why")
    .action(async (restores: string, _options: object, command: Command) => {
      const { comment } = givenTo(command);
      await printWithSession(command, io, async (session) => {
        const known = await session.clickhouse.query(
          "SELECT 1 FROM withdrawals WHERE withdrawal_id = {id:String} AND restores IS NULL LIMIT 1",
          { id: restores },
        );
        if (known.length === 0)
          throw new CommandError(`there is no withdrawal ${restores}: precedent feedback withdrawals`);
        await publish(session, {
          ...{ id: uuid(), tenant: null, source: null, author: null, since: null, until: null },
          ...{ restores, comment: comment ?? null, createdAt: Date.now() },
        });
        return `${restores} holds no more\n`;
      });
    });

  feedback
    .command("withdrawals")
    .description("what was withdrawn by source or time, newest first")
    .action(async (_options: object, command: Command) => {
      await printWithSession(command, io, async ({ clickhouse }) => {
        const rows = await clickhouse.query<WithdrawalRow>(selectWithdrawals);
        const cells = rows.map((row) => [
          ...[row.id, row.tenant ?? "any", row.source ?? "any", row.author ?? "any", row.since ?? "", row.until ?? ""],
          ...[row.restored ? "restored" : "in force", row.comment ?? ""],
        ]);
        const head = ["id", "tenant", "source", "author", "from", "to", "state", "why"];
        return cells.length === 0 ? "nothing is withdrawn\n" : tableOf(head, cells);
      });
    });

  feedback
    .command("sources")
    .description("who gives feedback, how much of it counts, and what it says on the average")
    .option("-t, --tenant <name>", "of this tenant alone")
    .action(async (_options: object, command: Command) => {
      const { tenant } = givenTo(command);
      await printWithSession(command, io, async ({ clickhouse }) => {
        const rows = await clickhouse.query<SourceRow>(selectSources, { tenant: tenant ?? "" });
        const cells = rows.map((row) => [
          ...[row.tenant, row.source, row.author, row.feedback, row.requests, row.uncounted, row.corrections],
          ...[row.mean === null ? "" : row.mean.toFixed(3), row.first, row.last],
        ]);
        const head = [
          ...["tenant", "source", "author", "feedback", "requests", "not counted", "corrections"],
          ...["mean", "first", "last"],
        ];
        return cells.length === 0 ? "no feedback is recorded\n" : tableOf(head, cells);
      });
    });
}

/** Options that feedback has as well are taken by it; its defaults are not meant. */
function givenTo(command: Command): WithdrawInput {
  const own = command.opts<WithdrawInput>();
  const above = command.parent;
  const given = Object.entries(above?.opts<WithdrawInput>() ?? {}).filter(
    ([name]) => above?.getOptionValueSource(name) === "cli",
  );
  return { ...own, ...Object.fromEntries(given) };
}

/** With privacy.redact.clickhouse one withdrawal of the author's name, one of the pseudonym. */
async function underAllNames({ config, clickhouse }: Session, record: Withdrawal): Promise<Withdrawal[]> {
  const { secret, clickhouse: redacts } = config.privacy.redact;
  if (secret === undefined || record.author === null || record.author === "") return [record];
  const { author } = record;
  const named = redacts
    ? await clickhouse.query("SELECT 1 FROM feedback WHERE author = {author:String} LIMIT 1", { author })
    : [{}];
  const names = new Set([pseudonym(secret, "author", author), ...(named.length > 0 ? [author] : [])]);
  return [...names].map((name, i) => ({ ...record, id: i === 0 ? record.id : uuid(), author: name }));
}

async function publish({ kafka, codec, topic }: Session, record: Withdrawal): Promise<void> {
  const value = codec.encode("withdrawals", record);
  await sendOnce(kafka, [{ topic: topic("withdrawals"), key: record.id, value }]);
}

interface WithdrawalRow {
  id: string;
  tenant: string | null;
  source: string | null;
  author: string | null;
  since: string | null;
  until: string | null;
  restored: boolean;
  comment: string | null;
}

const selectWithdrawals = `
SELECT withdrawal_id AS id, tenant, source, author, toString(since) AS since, toString(until) AS until, comment,
  toBool(withdrawal_id IN (SELECT assumeNotNull(restores) FROM withdrawals WHERE restores IS NOT NULL)) AS restored
FROM withdrawals FINAL WHERE restores IS NULL ORDER BY created_at DESC LIMIT 1000`;

interface SourceRow {
  tenant: string;
  source: string;
  author: string;
  feedback: number;
  requests: number;
  uncounted: number;
  corrections: number;
  mean: number | null;
  first: string;
  last: string;
}

const selectSources = `
SELECT tenant, source, author, feedback, requests, withdrawn + source_withdrawn + over_limit AS uncounted, corrections,
  mean_points AS mean, toString(first_at) AS first, toString(last_at) AS last
FROM feedback_sources WHERE {tenant:String} IN ('', tenant) ORDER BY feedback DESC LIMIT 1000`;
