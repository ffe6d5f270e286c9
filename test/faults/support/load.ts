// A steady load from outside: requests at so many a second until it is stopped, and thumbs for some
// of the answers, so that learn has work.
import { plainFeedback } from "../../../schemas/plain-feedback.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../../../pipelines/session.ts";
import type { Oracle } from "../../support/oracle.ts";

export interface LoadOptions {
  session: Session;
  oracle: Oracle;
  perSecond: number;
  /** Every n-th request gets feedback, a second or so after it was sent; none by default. */
  feedbackEvery?: number | undefined;
}

export interface Load {
  /** Feedback records that the broker has acknowledged. */
  feedback(): number;
  /**
   * Resolves when the last request is acknowledged. Rejects with what broke it off, if anything
   * did.
   */
  stop(): Promise<void>;
}

export function startLoad({ session, oracle, perSecond, feedbackEvery }: LoadOptions): Load {
  const { kafka, codec, topic } = session;
  const producer = kafka.plainProducer();
  let stopping = false;
  let given = 0;

  /** Once each second, so that what a broker's absence held up is not made good in one burst. */
  const issue = async (): Promise<void> => {
    while (!stopping) await oracle.issue(perSecond, perSecond);
  };
  const rate = async (every: number): Promise<void> => {
    for (let next = 0; !stopping; await sleep(1_000)) {
      const ids = [];
      for (; next < oracle.issued.length; next += every) ids.push(oracle.issued[next] ?? "");
      if (ids.length === 0) continue;
      const records = ids.map((requestId, i) => {
        const value = i % 3 === 0 ? -1 : 1;
        return plainFeedback({ id: `feedback-${requestId}`, requestId, kind: "thumbs", value, createdAt: Date.now() });
      });
      const messages = records.map((record) => ({
        topic: topic("feedback"),
        key: record.requestId,
        value: codec.encode("feedback", record),
      }));
      // Its id makes one of what is sent twice.
      while (
        !stopping &&
        !(await producer.send(messages).then(
          () => true,
          () => false,
        ))
      )
        await sleep(500);
      given += records.length;
    }
  };
  const running = Promise.all([issue(), feedbackEvery === undefined ? undefined : rate(feedbackEvery)]);
  // Reported by stop().
  running.catch(() => undefined);

  return {
    feedback: () => given,
    async stop() {
      stopping = true;
      await running.finally(() => producer.close());
    },
  };
}
