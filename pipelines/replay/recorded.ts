// Waits until ClickHouse knows what the topics of examples and replays hold, or a run would ask
// again what was replayed.
import { setTimeout as sleep } from "node:timers/promises";
import { record } from "../record/pipeline.ts";
import type { SessionOf } from "../../state/session.ts";
import { groupName } from "../../runtime/running-stage.ts";

const everyMs = 250;
const waitMs = 60_000;

/** Rejects when record does not get there within a minute, and when the signal is aborted. */
export async function untilRecorded(
  { kafka, config, topic }: Pick<SessionOf<object>, "kafka" | "config" | "topic">,
  signal: AbortSignal,
): Promise<void> {
  const group = groupName(config.kafka.prefix, record.name);
  const until = Date.now() + waitMs;
  await Promise.all(
    (["examples", "example-replays"] as const).map(async (name) => {
      // As it is now: others may go on writing for ever.
      const ends = new Map((await kafka.spans(topic(name))).map(({ partition, end }) => [partition, end]));
      for (;;) {
        const read = new Map((await kafka.lag(group, topic(name))).map((one) => [one.partition, one.committed ?? 0]));
        if ([...ends].every(([partition, end]) => end === 0 || (read.get(partition) ?? 0) >= end)) return;
        if (Date.now() >= until)
          throw new Error(
            `record has not stored all of ${topic(name)} within ${waitMs / 1000} s, so that examples would be replayed too often: see that a process runs the stage record`,
          );
        await sleep(everyMs, undefined, { signal });
      }
    }),
  );
}
