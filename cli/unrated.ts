// precedent unrated: what the automatic judge (learn.judge) would compare next, and what that is
// expected to cost. Reads ClickHouse, asks nobody, writes nothing.
import type { Command } from "commander";
import { readUnrated, type JudgingAgenda } from "../operators/judge/unrated.ts";
import { UsageError, type Io } from "./io.ts";
import { configOf } from "./options.ts";
import { oneLine, tableOf, withClickHouse } from "./reading.ts";

export function addUnrated(program: Command, io: Io): void {
  program
    .command("unrated")
    .description("what the automatic judge (learn.judge) would compare next, and its expected cost; asks nobody")
    .option("--json", "as JSON")
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { judge } = configOf(command, io).config.learn;
      const { arm } = judge;
      if (arm === undefined) throw new UsageError("nobody judges: set learn.judge.arm in the configuration");
      const agenda = await withClickHouse(command, io, (clickhouse) =>
        readUnrated(clickhouse, { ...judge, arm }, Date.now()),
      );
      io.out(json === true ? asJson(agenda) : describe(agenda));
    });
}

const expected = ({ items, meanCost }: JudgingAgenda): number | null =>
  meanCost === null ? null : Number((meanCost * items.length).toPrecision(3));

const asJson = (agenda: JudgingAgenda): string =>
  `${JSON.stringify({
    items: agenda.items.map(({ requestId, tenant, arm, otherArm, otherText }) => ({
      ...{ requestId, tenant, arm, otherArm, second: otherText === null ? "generated" : "alternatives" },
    })),
    ...{ expectedCost: expected(agenda), spent: agenda.spent },
  })}\n`;

function describe(agenda: JudgingAgenda): string {
  const { items, spent } = agenda;
  const table = tableOf(
    ["tenant", "arm", "other arm", "second answer", "request", "question"],
    items.map(({ requestId, tenant, arm, otherArm, otherText, messages }) => [
      ...[oneLine(tenant, 20), arm, otherArm, otherText === null ? "to be generated" : "there"],
      ...[oneLine(requestId, 36), oneLine(messages.at(-1)?.content ?? "", 40)],
    ]),
  );
  const cost = expected(agenda);
  return `${items.length === 0 ? "" : table}${items.length} answers would be judged, for ${
    cost === null ? "a cost that is not known before the first is" : `about ${cost}`
  }; ${spent.lastHour} were in the last hour, for ${Number(spent.cost.toPrecision(3))} in the last 24 hours\n`;
}
