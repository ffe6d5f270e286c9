// What linked prefills were found to be worth, on their way to the topic prefill-samples. Best effort: a sample that can't be sent is lost, and
// there will be more.
import type { Sample } from "../arms/linked-idle.ts";
import type { Session } from "./session.ts";

export interface SampleSender {
  send(sample: Sample): void;
  close(): Promise<void>;
}

export function createSampleSender({ kafka, codec, topic }: Session, arm: string, log: Session["log"]): SampleSender {
  // Most arms never have a sample.
  let producer: ReturnType<Session["kafka"]["plainProducer"]> | undefined;
  return {
    send({ requestId, tenant, policy, recomputedShare, kl, agreement }) {
      const value = codec.encode("prefill-samples", {
        ...{ requestId, tenant, arm, policy, recomputedShare, kl, agreement },
        createdAt: Date.now(),
      });
      producer ??= kafka.plainProducer();
      producer.send([{ topic: topic("prefill-samples"), key: requestId, value }]).catch((error: unknown) => {
        log.warn({ err: error }, "a sample of linked prefill could not be sent");
      });
    },
    close: async () => producer?.close(),
  };
}
