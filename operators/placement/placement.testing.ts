// The placer on an example topic in memory, for its tests.
import { pino } from "pino";
import { createPlacer, type Placer, type PlacementDependencies } from "./placement.ts";
import { decodePlacement, type Placement } from "../../state/policies/placement.ts";
import type { Pair } from "./seen.ts";
import { encode, groups, topic, type ExampleTopic } from "./topic.testing.ts";

const log = pino({ level: "silent" });

export function placing(its: ExampleTopic, seen: Pair[], over: Partial<PlacementDependencies> = {}): Placer {
  let time = 0;
  return createPlacer({
    clickhouse: its.clickhouse,
    kafka: its.kafka,
    topic,
    groups,
    seen: () => Promise.resolve([...seen]),
    encode,
    policies: its.policies,
    publish: its.publish,
    rules: { pool: "shared", shareAbove: 0, countEveryMs: 0 },
    clock: () => (time += 1),
    signal: new AbortController().signal,
    log,
    ...over,
  });
}
/** What is in force. */
export const placement = (its: ExampleTopic): Placement => {
  const newest = its.published.at(-1);
  const decoded = newest === undefined ? { problem: "nothing is published" } : decodePlacement(newest);
  if ("problem" in decoded) throw new Error(decoded.problem);
  return decoded;
};
/** Where a domain is placed, and from which offset on it is whole there. */
export const partitionOffsets = (its: ExampleTopic, domain: string): [number, number | null][] => [
  ...(placement(its).domains.get(domain) ?? []),
];
/** Passes until nothing is left to do. */
export async function settle(its: ExampleTopic, placer: Placer): Promise<void> {
  for (let i = 0; i < 10; i++) {
    await its.deliver();
    its.record();
    await placer.pass();
  }
}
