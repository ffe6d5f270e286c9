// A consumer that is the only member of its group, and starts again after whatever ended it.
import { randomUUID } from "node:crypto";
import type { Consumer, Kafka as KafkaClient } from "kafkajs";
import type { Logger } from "pino";
import { rarely } from "../../algorithms/queueing/rarely.ts";
import { warnMs } from "./retry.ts";

const restartMs = 500;

export function createReader(client: KafkaClient, topic: string): Consumer {
  return client.consumer({
    groupId: `reader.${topic}.${randomUUID()}`,
    maxWaitTimeInMs: 100,
    sessionTimeout: 30_000,
    // The only member of its group learns nothing by them; they keep its membership alone.
    heartbeatInterval: 10_000,
    allowAutoTopicCreation: false,
    retry: {
      initialRetryTime: 50,
      maxRetryTime: 1_000,
      retries: 1_000_000,
      restartOnFailure: () => Promise.resolve(true),
    },
  });
}

/** kafkajs gives a consumer up after some errors: a table or a tail must survive that. */
export function reviving(consumer: Consumer, start: () => Promise<void>, stopped: () => boolean, log: Logger): void {
  let due = rarely(warnMs, () => performance.now());
  const revive = (): void => {
    if (stopped()) return;
    start().catch((error: unknown) => {
      log[due() ? "warn" : "debug"]({ err: error }, "a reader can't start again yet");
      setTimeout(revive, restartMs);
    });
  };
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (stopped() || payload.restart) return;
    due = rarely(warnMs, () => performance.now());
    log.warn({ err: payload.error }, "a reader crashed, starting it again");
    setTimeout(revive, restartMs);
  });
}
