// precedent judge: an arm compares two answers in both orders. The verdict on a recorded request
// becomes comparison feedback of the source judge.
import type { Command } from "commander";
import { v7 as uuid } from "uuid";
import { createArm } from "../arms/create.ts";
import type { Session } from "../pipelines/session.ts";
import type { Config } from "../config/schema.ts";
import { tieWithin, type Compared, type Comparison } from "../algorithms/routing/comparison.ts";
import { createCompare } from "../operators/judge/compare.ts";
import { createLog } from "../runtime/log.ts";
import type { Feedback } from "../schemas/types.ts";
import { sendFeedback } from "./feedback.ts";
import { feedbackRecord } from "./feedback-record.ts";
import { CommandError, UsageError, type Io } from "./io.ts";
import { armNamed, configOf, numberThat } from "./options.ts";
import { withSession } from "./with-session.ts";
import { recordedId } from "./request-id.ts";

interface Options {
  arm: string;
  tenant: string;
  samples: number;
  question?: string;
  first?: string;
  second?: string;
  against?: string;
  dryRun?: boolean;
  json?: boolean;
}

export function addJudge(program: Command, io: Io): void {
  program
    .command("judge")
    .description("let an arm compare two answers: that of a request and another one, or two texts")
    .argument("[request-id]", "a recorded request; without it --question, --first and --second")
    .requiredOption("-a, --arm <name>", "the arm that judges")
    .option("-t, --tenant <name>", "owner of the request", "default")
    .option("-n, --samples <count>", "verdicts of each order", parseSamples, 8)
    .option("--question <text>", "what was asked")
    .option("--first <text>", "one answer")
    .option("--second <text>", "the other answer")
    .option("--against <arm>", "with a request id: the arm that gave the other answer")
    .option("--dry-run", "with a request id: give no feedback")
    .option("--json", "as JSON")
    .action(async (given: string | undefined, options: Options, command: Command) => {
      const { config } = configOf(command, io);
      if (given === undefined) {
        const { question, first, second } = options;
        if (question === undefined || first === undefined || second === undefined)
          throw new UsageError("a request id, or --question, --first and --second");
        const compared = await compareBy(config, options, { requestId: "judge", question, first, second }, io);
        io.out(describe(compared, options.json));
        return;
      }
      await withSession(command, io, async (session) => {
        const requestId = await recordedId(session.clickhouse, given);
        const { against, ...comparison } = await recorded(session, requestId, options);
        const compared = await compareBy(config, options, comparison, io);
        if (options.dryRun !== true && compared.score !== null)
          await sendFeedback(session, requestId, verdictOf(requestId, options.tenant, against, compared.score));
        io.out(describe(compared, options.json));
      });
    });
}

const parseSamples = numberThat(
  "A whole number from 1 to 64.",
  (value) => Number.isInteger(value) && value > 0 && value <= 64,
);

async function compareBy(
  config: Config,
  { arm: name, samples }: Options,
  comparison: Comparison,
  io: Io,
): Promise<Compared> {
  const arm = await createArm(armNamed(config, "--arm", name), { log: createLog({ level: "error" }) });
  try {
    const compared = await createCompare({ arm, samples, clock: Date.now })(comparison, io.signal);
    if (compared.score === null) throw new CommandError(whyNone(compared, { name, samples }));
    return compared;
  } finally {
    await arm.close();
  }
}

function whyNone({ verdicts }: Compared, { name, samples }: { name: string; samples: number }): string {
  const read =
    verdicts.length === 0
      ? `none of ${2 * samples} answers of ${name} held a verdict`
      : `${name} gave verdicts on one order of the answers alone (${verdicts.length} of ${2 * samples}), which may be for a position`;
  return `${read}: is it a model that can judge?`;
}

async function recorded(
  { clickhouse }: Session,
  requestId: string,
  { tenant, second, against }: Options,
): Promise<Comparison & { against: string }> {
  if (second === undefined || against === undefined)
    throw new UsageError("a request id needs --second, the other answer, and --against, the arm that gave it");
  const [answer] = await clickhouse.query<{ question: string; text: string; status: string }>(
    "SELECT question, text, status FROM outcomes WHERE request_id = {requestId:String} AND tenant = {tenant:String}",
    { requestId, tenant },
  );
  if (answer === undefined) throw new CommandError(`${requestId} is not recorded for ${tenant}`);
  if (answer.status !== "ok") throw new CommandError(`${requestId} has no answer to judge`);
  return { requestId, question: answer.question, first: answer.text, second, against };
}

const verdictOf = (requestId: string, tenant: string, against: string, score: number): Feedback =>
  feedbackRecord({ requestId, tenant, source: "judge", verdict: String(score), against }, uuid(), Date.now());

function describe(compared: Compared, json = false): string {
  if (json) return `${JSON.stringify(compared)}\n`;
  const score = compared.score ?? 0;
  const words = Math.abs(score) <= tieWithin ? "a tie" : score > 0 ? "the first is better" : "the second is better";
  const unread = compared.unread === 0 ? "" : `, ${compared.unread} could not be read`;
  return `${score.toFixed(2)} of -3..3: ${words} (${compared.verdicts.length} verdicts${unread})\n`;
}
