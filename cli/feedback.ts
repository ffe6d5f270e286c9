// precedent feedback REQUEST_ID …: rates an answer. The record is produced as any client would; it
// may arrive before the request is recorded, twice (the same --id), or years later.
import type { Command } from "commander";
import { v7 as uuid } from "uuid";
import { openSession } from "../pipelines/session.ts";
import { createLog } from "../runtime/log.ts";
import { addFeedbackWithdraw } from "./feedback-withdraw.ts";
import { feedbackRecord, type FeedbackInput } from "./feedback-record.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";

type Options = Omit<FeedbackInput, "requestId" | "verdict"> & { id?: string };

export function addFeedback(program: Command, io: Io): void {
  const command = program
    .command("feedback")
    // What stands behind withdraw and the like is theirs.
    .enablePositionalOptions()
    .description("say what you think of an answer; prints the id of the feedback, by which it can be withdrawn")
    .argument("<request-id>", "whose answer")
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
    .action(async (requestId: string, verdict: string | undefined, { id, ...options }: Options, command: Command) => {
      // Usage errors are reported before any connection is opened.
      const feedback = feedbackRecord({ ...options, requestId, verdict }, id ?? uuid(), Date.now());
      const { config } = configOf(command, io);
      const session = await openSession(config, { log: createLog({ level: "error" }), start: false });
      const producer = session.kafka.plainProducer();
      try {
        const value = session.codec.encode("feedback", feedback);
        await producer.send([{ topic: session.topic("feedback"), key: requestId, value }]);
        io.out(`${feedback.id}\n`);
      } finally {
        await producer.close();
        await session.close();
      }
    });
  addFeedbackWithdraw(command, io);
}
