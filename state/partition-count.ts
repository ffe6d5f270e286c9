// How many partitions a topic has by the brokers, not by the configuration: it may have been made
// by another process, or got more since.
import type { Logger } from "pino";
import type { Kafka } from "../connections/kafka/port.ts";
import { untilReachable } from "../connections/kafka/retry.ts";

const lookEveryMs = 10_000;

/** Resolves with the brokers' first word; looks every `everyMs`. Waits while they are away. */
export async function followPartitionCount(
  kafka: Pick<Kafka, "spans">,
  { topic, log, everyMs = lookEveryMs }: { topic: string; log: Logger; everyMs?: number },
) {
  let count = (await untilReachable(() => kafka.spans(topic), { log, topic }))?.length ?? 0;
  const look = async (): Promise<void> => {
    const found = (await kafka.spans(topic)).length;
    // A topic that is gone has none; what is under way then waits for it.
    if (found === 0 || found === count) return;
    log.warn({ topic, from: count, to: found }, "the number of partitions has changed");
    count = found;
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.debug({ err: error, topic }, "the number of partitions is not to be had"));
  }, everyMs).unref();
  return { now: (): number => count, stop: (): void => clearInterval(timer) };
}
