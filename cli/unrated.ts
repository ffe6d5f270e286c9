// precedent unrated: shows what the automatic judge (learn.judge) would compare next, and the
// expected cost. Reads ClickHouse, calls no arm, writes nothing.
import type { Command } from "commander";
import { readUnrated, type JudgingAgenda, type UnratedSettings } from "../operators/judge/unrated.ts";
import { UsageError, type Io } from "./io.ts";
import { configOf } from "./options.ts";
import { oneLine, tableOf, withClickHouse } from "./reading.ts";

export function addUnrated(program: Command, io: Io): void {
  program
    .command("unrated")
    .description("what the automatic judge (learn.judge) would compare next, and its expected cost; calls no arm")
    .option("--json", "as JSON")
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { judge } = configOf(command, io).config.learn;
      const { arm } = judge;
      if (arm === undefined) throw new UsageError("no arm judges: set learn.judge.arm in the configuration");
      const agenda = await withClickHouse(command, io, (clickhouse) =>
        readUnrated(clickhouse, { ...judge, arm }, Date.now()),
      );
      io.out(json === true ? asJson(agenda) : describe(agenda, judge));
    });
}

const expected = ({ items, meanCost }: JudgingAgenda): number | null =>
  meanCost === null ? null : Number((meanCost * items.length).toPrecision(3));

const asJson = (agenda: JudgingAgenda): string =>
  `${JSON.stringify({
    items: agenda.items.map(({ requestId, tenant, arm, otherArm, otherText }) => ({
      ...{ requestId, tenant, arm, otherArm, other: otherText === null ? "generated" : "alternative" },
    })),
    ...{ expectedCost: expected(agenda), spent: agenda.spent, usedUp: agenda.usedUp },
  })}\n`;

/** For people; `judge`: the settings. */
export function describe(agenda: JudgingAgenda, judge: Omit<UnratedSettings, "arm">): string {
  const { items, spent } = agenda;
  const table = tableOf(
    ["tenant", "arm", "other arm", "other answer", "request", "question"],
    items.map(({ requestId, tenant, arm, otherArm, otherText, messages }) => [
      ...[oneLine(tenant, 20), arm, otherArm, otherText === null ? "to be generated" : "there"],
      ...[oneLine(requestId, 36), oneLine(messages.at(-1)?.content ?? "", 40)],
    ]),
  );
  const next = items.length === 0 ? whyNone(agenda, judge) : `${table}${judged(agenda)}`;
  const cost = Number(spent.cost.toPrecision(3));
  return `${next}\n${spent.lastHour} were judged in the last hour; judging cost ${cost} in the last 24 hours\n`;
}

function judged(agenda: JudgingAgenda): string {
  const cost = expected(agenda);
  const count = agenda.items.length === 1 ? "1 answer" : `${agenda.items.length} answers`;
  const costs = cost === null ? "what that costs is known from the first on" : `for about ${cost}`;
  return `${count} would be judged next${cost === null ? "; " : ", "}${costs}`;
}

function whyNone({ usedUp }: JudgingAgenda, judge: Omit<UnratedSettings, "arm">): string {
  if (usedUp !== null) return `nothing is judged for now: ${usedUp} (${String(judge[usedUp])}) is used up`;
  const { windowHours, afterMinutes, share, reference } = judge;
  const other =
    reference === undefined ? "an alternative answer" : `an alternative answer, or ${reference} among its arms`;
  return `nothing is to be judged now: it takes an answer of the last ${windowHours} h, older than ${afterMinutes} min, without a rating, with ${other}, of a tenant that has some of its ${judge.perTenantHour} an hour left; of these a share of ${share} is drawn`;
}
