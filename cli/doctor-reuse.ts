// What precedent doctor says of the arm that reuses answers: in which sharing domains it is on or
// off, by the newest version of the policy `reuse`. Only looks.
import type { Config } from "../config/schema.ts";
import type { Kafka } from "../connections/kafka/port.ts";
import { topicName } from "../connections/kafka/topics.ts";
import type { Codec } from "../connections/registry/port.ts";
import { decodeReusePolicy, REUSE, reuseTimes, type ReuseBody } from "../state/policies/reuse.ts";
import { createLog } from "../runtime/log.ts";
import { readTable } from "../runtime/table.ts";
import type { Check } from "./doctor-check.ts";

type State = ReuseBody & { createdAt: number };

/** Rejects while the broker is away. */
export async function checkReuse(
  { arms, kafka: { prefix } }: Pick<Config, "arms" | "kafka">,
  kafka: Pick<Kafka, "topics" | "readTopic">,
  codec: Codec,
): Promise<Omit<Check, "name">> {
  const arm = arms.find(({ type }) => type === "reuse");
  const topic = topicName(prefix, "policies");
  if (arm?.type !== "reuse" || !(await kafka.topics()).includes(topic))
    return { state: "waiting", detail: "no process has said anything yet" };
  const log = createLog({ level: "silent" });
  const newest = (await readTable({ kafka, codec, topic, record: "policies", log })).get(REUSE);
  const decoded = newest === undefined ? null : decodeReusePolicy(newest);
  return describeReuse(arm, decoded === null || "problem" in decoded ? null : decoded, Date.now());
}

const mostNamed = 5;

export function describeReuse(
  arm: { name: string; tenants: readonly string[] },
  state: State | null,
  now: number,
): Omit<Check, "name"> {
  if (arm.tenants.length === 0)
    return { state: "waiting", detail: `${arm.name} answers no tenant: name tenants in its setting "tenants"` };
  if (state?.arm !== arm.name) return { state: "waiting", detail: `${arm.name} is off: nothing was verified yet` };
  if (now - state.createdAt > reuseTimes.staleMs)
    return {
      state: "lacking",
      detail: `${arm.name} is off: its answers were not checked for ${Math.round((now - state.createdAt) / 60_000)} minutes`,
      remedy: "run the stage learn (precedent up), or let it go on (precedent policy resume reuse)",
    };
  const domains = Object.entries(state.domains);
  const on = domains.filter(([, { bound }]) => bound <= state.limit);
  const failed = domains.filter(([, { bound, alarms, wrong }]) => bound > state.limit && (alarms > 0 || wrong > 0));
  const detail = `${arm.name} is on in ${on.length} of ${domains.length} sharing domains with verified answers (limit ${state.limit})`;
  if (failed.length === 0) return { state: "fine", detail };
  const named = failed
    .slice(0, mostNamed)
    .map(([domain, { cases, wrong, alarms }]) => `${domain}: ${wrong} of ${cases} wrong, ${alarms} alarms`);
  return {
    state: "lacking",
    detail: [`${detail}; off after wrong answers in ${failed.length}`, ...named].join("\n"),
    remedy:
      "look at reuse_hits and the examples there; it comes back by itself, or set countFrom of the arm to begin anew",
  };
}
