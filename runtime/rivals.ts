// Two processes with one instance id fence each other for ever. So a stage does not start while
// another has its id, and a fenced one that sees another stops.
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoff } from "../algorithms/queueing/backoff.ts";
import type { GroupConsumer } from "../connections/kafka/port.ts";

class InstanceTaken extends Error {
  override name = "InstanceTaken";
}

export interface RivalOptions {
  consumer: Pick<GroupConsumer, "rivals">;
  group: string;
  instance: string;
  log: Logger;
  stopped: () => boolean;
}

/** How long a group may be reassigned, without naming members, before it counts as empty. */
const silentMs = 3_000;
const lookMs = { first: 100, limit: 1_000 };

/**
 * Waits until no other process is a member under this id; `withinMs` is longer than the session
 * timeout. InstanceTaken; waits for the broker as long as it takes.
 */
export async function waitForRivals(options: RivalOptions, withinMs: number): Promise<void> {
  const { group, instance, log, stopped } = options;
  let end: number | undefined;
  const waits = backoff(lookMs);
  while (!stopped()) {
    const [rival] = await visibleRivals(options);
    if (rival === undefined) return;
    if (end === undefined) {
      end = performance.now() + withinMs;
      log.warn(
        { group, instance, rival, withinMs },
        "the instance id is a member of the group: waiting until it leaves",
      );
    }
    if (performance.now() >= end)
      throw new InstanceTaken(
        `instance "${instance}" is running in ${group} already, as ${rival}: stop it, or give this process another instance id`,
      );
    await sleep(waits.next());
  }
}

/** Those that the group shows; none when it shows nothing for a while. */
export async function visibleRivals({ consumer, log, stopped }: RivalOptions): Promise<readonly string[]> {
  let silentSince: number | undefined;
  const waits = backoff(lookMs);
  while (!stopped()) {
    try {
      const rivals = await consumer.rivals();
      if (rivals !== undefined) return rivals;
      silentSince ??= performance.now();
      if (performance.now() - silentSince >= silentMs) return [];
    } catch (error) {
      silentSince = undefined;
      log.debug({ err: error }, "the group's members are not to be had yet");
    }
    await sleep(waits.next());
  }
  return [];
}
