// What precedent doctor says of the router versions that experiments name: each needs a pin on the
// topic `policies`. Only looks.
import type { Config } from "../config/schema.ts";
import { routerVersionsOf } from "../config/sections/experiments.ts";
import type { Kafka } from "../connections/kafka/port.ts";
import { topicName } from "../connections/kafka/topics.ts";
import type { Codec } from "../connections/registry/port.ts";
import { createLog } from "../runtime/log.ts";
import { readTable } from "../runtime/table.ts";
import { pinName } from "../state/policies/pin.ts";
import { createPolicyTable } from "../state/policies/router-table.ts";
import type { Check } from "./doctor-check.ts";

/** Rejects while the broker is away. */
export async function checkPins(
  { experiments, kafka: { prefix } }: Pick<Config, "experiments" | "kafka">,
  kafka: Pick<Kafka, "topics" | "readTopic">,
  codec: Codec,
): Promise<Omit<Check, "name">> {
  const versions = routerVersionsOf(experiments);
  const table = createPolicyTable("shared", versions);
  const topic = topicName(prefix, "policies");
  if ((await kafka.topics()).includes(topic)) {
    const records = await readTable({ kafka, codec, topic, record: "policies", log: createLog({ level: "silent" }) });
    for (const record of records.values()) table.apply(record);
  }
  const problems = versions.flatMap((version) => {
    const { problem } = table.version(version);
    return problem === null ? [] : [`${pinName(version)}: ${problem}`];
  });
  if (problems.length === 0) return { state: "fine", detail: `pinned: ${versions.map(pinName).join(", ")}` };
  return {
    state: "lacking",
    detail: ["experiments with these versions wait for them", ...problems].join("\n"),
    remedy: "pin the versions, or take them out of experiments",
  };
}
