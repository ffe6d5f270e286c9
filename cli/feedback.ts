// precedent feedback REQUEST_ID …: rates an answer. The record is produced as any client would; it
// may arrive before the request is recorded, twice (the same --id), or years later.
import type { Command } from "commander";
import { v7 as uuid } from "uuid";
import type { Session } from "../pipelines/session.ts";
import { withTimeout } from "../runtime/with-timeout.ts";
import type { Feedback } from "../schemas/types.ts";
import { addFeedbackWithdraw } from "./feedback-withdraw.ts";
import { feedbackRecord, type FeedbackInput } from "./feedback-record.ts";
import type { Io } from "./io.ts";
import { printWithKafka } from "./with-session.ts";
import { requestIdOf } from "../gateway/api/response.ts";
import { recordedId } from "./request-id.ts";
import { sendOnce } from "../runtime/send-once.ts";

type Options = Omit<FeedbackInput, "requestId" | "verdict"> & { id?: string };

export function addFeedback(program: Command, io: Io): void {
  const command = program
    .command("feedback")
    // What stands behind withdraw and the like is theirs.
    .enablePositionalOptions()
    .description("say what you think of an answer; prints the id of the feedback, by which it can be withdrawn")
    .argument("<request-id>", "whose answer: the id of the request, or of the answer (chatcmpl-..., msg_..., resp_...)")
    .argument(
      "[verdict]",
      "up, down, neutral; better, worse, same (--against); a number (--range, --reward or --against)",
    )
    .option("-t, --tenant <name>", "owner of the request", "default")
    .option("--range <low..high>", "the number is a score between the worst and the best, such as 1..5")
    .option("--reward", "the number is a reward in [0, 1]")
    .option("--against <arm>", "the verdict compares with the answer of this arm; a number from -3 to 3")
    .option("--text <answer>", "a correction: the answer that would have been right")
    .option("--withdraws <feedback-id>", "this feedback on the same request no longer counts")
    .option("--source <who>", "person, judge or system", "person")
    .option("--author <name>", "author: all feedback of an author can be withdrawn at once")
    .option("--comment <text>", "anything else")
    .option("--id <id>", "id of this feedback: the same id twice counts once; a new one by default")
    .action(async (given: string, verdict: string | undefined, { id, ...options }: Options, command: Command) => {
      // Usage errors are reported before any connection is opened.
      const checked = feedbackRecord({ ...options, requestId: given, verdict }, id ?? uuid(), Date.now());
      await printWithKafka(command, io, async (session) => {
        const known = recordedId(session.clickhouse, given).catch(() => undefined);
        const requestId = (await withTimeout(recordedMs, known)) ?? requestIdOf(given);
        const feedback = { ...checked, requestId };
        await sendFeedback(session, requestId, feedback);
        if ((await withTimeout(recordedMs, isRecorded(session, requestId, feedback.tenant))) === false)
          io.note(
            `no request ${requestId} of tenant ${feedback.tenant} is recorded yet: the feedback counts when it is; check the id and --tenant\n`,
          );
        return `${feedback.id}\n`;
      });
    });
  addFeedbackWithdraw(command, io);
}

/** The feedback is sent by then: a ClickHouse that is away or hangs costs no more than a note. */
const recordedMs = 2_000;

/** undefined: not known now. */
const isRecorded = ({ clickhouse }: Session, id: string, tenant: string): Promise<boolean | undefined> =>
  clickhouse
    .query("SELECT 1 FROM requests WHERE request_id = {id:String} AND tenant = {tenant:String} LIMIT 1", { id, tenant })
    .then(
      (rows) => rows.length > 0,
      () => undefined,
    );

export async function sendFeedback({ kafka, codec, topic }: Session, key: string, feedback: Feedback): Promise<void> {
  const value = codec.encode("feedback", feedback);
  await sendOnce(kafka, [{ topic: topic("feedback"), key, value }]);
}
