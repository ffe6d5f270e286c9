// precedent doctor on arms: open breakers by the topic, and inline arms. Only looks.
import type { Config } from "../config/schema.ts";
import type { Kafka } from "../connections/kafka/port.ts";
import { topicName } from "../connections/kafka/topics.ts";
import type { Codec } from "../connections/registry/port.ts";
import { createLog } from "../runtime/log.ts";
import { readTable } from "../runtime/table.ts";
import type { ArmBreaker } from "../schemas/types.ts";
import { createRowTable } from "../state/process-rows.ts";
import type { Check } from "./doctor-check.ts";

/** Rejects while the broker is away. */
export async function checkBreakers(
  { arms, kafka: { prefix } }: Pick<Config, "arms" | "kafka">,
  kafka: Pick<Kafka, "topics" | "readTopic">,
  codec: Codec,
): Promise<Omit<Check, "name">> {
  const topic = topicName(prefix, "breakers");
  if (!(await kafka.topics()).includes(topic)) return { state: "waiting", detail: "no process has said anything yet" };
  const table = createRowTable<ArmBreaker>(Date.now);
  const rows = await readTable({ kafka, codec, topic, record: "breakers", log: createLog({ level: "silent" }) });
  for (const [key, value] of rows) table.apply(key, value);
  return describeBreakers(arms.map(({ name }) => ({ arm: name, rows: table.others(name, "") })));
}

export function describeBreakers(
  arms: readonly { arm: string; rows: readonly Pick<ArmBreaker, "instance" | "state">[] }[],
): Omit<Check, "name"> {
  const failing = arms.flatMap(({ arm, rows }) => {
    const failing = rows.filter(({ state }) => state !== "closed");
    const where = failing.map(({ instance, state }) => `${state} in ${instance}`).join(", ");
    return failing.length === 0 ? [] : [`${arm}: ${where}`];
  });
  if (failing.length === 0) return { state: "fine", detail: "no arm's breaker is open" };
  return {
    state: "lacking",
    detail: `arms that fail: ${failing.join("; ")}`,
    remedy:
      "see that the arm's endpoint runs and takes its key (the log says why calls fail); it is tried again by itself",
  };
}
