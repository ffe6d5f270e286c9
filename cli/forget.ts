// precedent forget: erases what a tenant or a user asked, or one request, with all that came of it,
// and shows that it is gone. Exit code 1 where something is still found, or may still come.
import { InvalidArgumentError, type Command } from "commander";
import { nameProblem } from "../algorithms/identity/names.ts";
import { runForget } from "../analysis/forget/open.ts";
import type { ForgetReport } from "../analysis/forget/report.ts";
import type { Scope } from "../analysis/forget/subject.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { parseDuration } from "./options.ts";
import { tableOf } from "./reading.ts";
import { recordedId } from "./request-id.ts";
import { withSession } from "./with-session.ts";

interface ForgetInput extends Scope {
  dryRun?: boolean;
  json?: boolean;
  wait: number;
}

function scopeOf({ tenant, user, request }: Scope): Scope {
  if (tenant === undefined && user === undefined && request === undefined)
    throw new UsageError("forget whom? --tenant, --user or --request (docs/privacy.md says what each takes along)");
  if (user !== undefined && request !== undefined)
    throw new UsageError("--user and --request: one of them; either may stand with --tenant");
  if (user === "" || request === "") throw new UsageError("--user and --request: a name that is not empty");
  const problem = nameProblem({ tenant });
  if (problem !== null) throw new UsageError(problem);
  return {
    ...(tenant === undefined ? {} : { tenant }),
    ...(user === undefined ? {} : { user }),
    ...(request === undefined ? {} : { request }),
  };
}

export function addForget(program: Command, io: Io): void {
  program
    .command("forget")
    .description("erase requests with everything derived from them, and verify the erasure")
    .option("-t, --tenant <name>", "all of this tenant; with --user or --request: theirs alone")
    .option("-u, --user <name>", "requests that name this user (metadata.user, or OpenAI's user)")
    .option("-r, --request <id>", "one request")
    .option("--wait <time>", "so long for requests under way, 0 or 90s or 2m", parseWait, 60_000)
    .option("--dry-run", "only say what is there")
    .option("--json", "the report as one object")
    .action(async (input: ForgetInput, command: Command) => {
      const scope = scopeOf(input);
      await withSession(command, io, async (session) => {
        const dryRun = input.dryRun === true;
        const { request } = scope;
        const report = await runForget(
          { ...scope, ...(request !== undefined && { request: await recordedId(session.clickhouse, request) }) },
          { dryRun, waitMs: input.wait, onProgress: (what) => io.note(`${what}\n`), signal: io.signal },
          session,
        );
        io.out(input.json === true ? `${JSON.stringify(report)}\n` : describe(report));
        if (dryRun) return;
        const left = report.found.reduce((sum, { count }) => sum + count, 0);
        if (left > 0) throw new CommandError(`${left} are still there: run it again; do record and curate run?`);
        if (report.underWay > 0)
          throw new CommandError(`${report.underWay} requests were under way: run it again when they are answered`);
      });
    });
}

function parseWait(text: string): number {
  if (text === "0") return 0;
  try {
    return parseDuration(text);
  } catch {
    throw new InvalidArgumentError("A time such as 0, 90s or 2m.");
  }
}

function describe({ erasure, requests, removed, searched, found, remains }: ForgetReport): string {
  const rows = Object.entries(removed.rows).map(([table, count]) => `${count} rows of ${table}`);
  const others = [
    ...[`${removed.examples} examples`, `${removed.cacheEntries} cache entries`, `${removed.documents} documents`],
    ...[`${removed.caches} caches of keys and values`, `${removed.pools} pools`],
    `${removed.leftBehind} copies of documents that killed processes left behind`,
    ...removed.logReplays.map((id) => `log replay ${id}`),
  ];
  const locations = found.map(({ location, count }) => [location, count]);
  return [
    `${requests} ${requests === 1 ? "request" : "requests"}${erasure === null ? "" : `, erasure ${erasure}`}`,
    ...(erasure === null ? [] : [`removed: ${[...rows, ...others].join(", ")}`]),
    `searched: ${searched.tables.length} tables, ${searched.topics.length} topics whole, ${searched.folders.join(", ")}`,
    found.length === 0 ? "found: nothing" : `found:\n${tableOf(["where", "how many"], locations).trimEnd()}`,
    ...(remains.length === 0
      ? []
      : [
          "remains:",
          tableOf(
            ["where", "how many", "until", "why"],
            remains.map(({ location, count, until, why }) => [location, count ?? "", until ?? "not known", why]),
          ).trimEnd(),
        ]),
    "",
  ].join("\n");
}
