// What precedent doctor says of inline arms: their price, and whether records of a time when they
// were queued still wait. Only looks.
import type { Config } from "../config/schema.ts";
import { isInline } from "../config/sections/arms.ts";
import { topicName } from "../connections/kafka/topics.ts";
import type { Kafka } from "../connections/kafka/port.ts";
import { isWorkLeft } from "../state/work-left.ts";
import type { Check } from "./doctor-check.ts";

const price = "called by plan itself: a plan process has up to their concurrency of calls, and a crash repeats them";

/** Only where an arm is inline. Rejects while the broker is away. */
export async function checkInline(
  { arms, kafka: { prefix } }: Pick<Config, "arms" | "kafka">,
  kafka: Pick<Kafka, "lag" | "topics">,
): Promise<Omit<Check, "name">> {
  const inline = arms.filter(isInline).map(({ name }) => name);
  const existing = new Set(await kafka.topics());
  const waiting = await Promise.all(
    inline.map(async (arm) => {
      const topic = topicName(prefix, "work", arm);
      return existing.has(topic) && (await isWorkLeft(kafka, { prefix, arm, topic })) ? [topic] : [];
    }),
  );
  const left = waiting.flat();
  if (left.length === 0) return { state: "fine", detail: `${inline.join(", ")}: ${price}` };
  return {
    state: "lacking",
    detail: `${left.join(", ")} not read to the end, though plan calls the arm itself now`,
    remedy: "precedent up --stage generate: it finishes them by itself",
  };
}
