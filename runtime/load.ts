// L of spec 20: how busy the arms dearer than the cheapest are, as a moving average with a half-life of 10 s. An arm's
// utilisation is what stands in its work topic unfinished (end offset minus finished ones) over its configured capacity.
import type { Logger } from "pino";
import type { Kafka } from "../connections/kafka/port.ts";
import { decodeFinished } from "./finished-offsets.ts";

export interface MonitoredArm {
  topic: string;
  group: string;
  /** Calls that the arm takes at a time, over all processes. */
  capacity: number;
}

export interface LoadMonitor {
  load(): number;
  stop(): void;
}

const pollMs = 1_000;
const halfLifeMs = 10_000;

export function createLoadMonitor(
  kafka: Pick<Kafka, "lag">,
  arms: () => readonly MonitoredArm[],
  now: () => number,
  log: Logger,
): LoadMonitor {
  let average = 0;
  let last = now();
  let polling = false;

  const utilisation = async ({ topic, group, capacity }: MonitoredArm): Promise<number> => {
    const partitions = await kafka.lag(group, topic);
    const unfinished = partitions.reduce((sum, { end, committed, metadata }) => {
      if (committed === undefined) return sum + end;
      return sum + Math.max(0, end - committed - decodeFinished(metadata).length);
    }, 0);
    return unfinished / capacity;
  };

  const poll = async (): Promise<void> => {
    const monitored = arms();
    if (polling || monitored.length === 0) return;
    polling = true;
    try {
      const each = await Promise.all(monitored.map(utilisation));
      const current = each.reduce((sum, value) => sum + value, 0) / each.length;
      const elapsed = now() - last;
      last = now();
      average = current + (average - current) * 2 ** (-elapsed / halfLifeMs);
    } catch (error) {
      log.debug({ err: error }, "the load could not be read; the last average stands");
    } finally {
      polling = false;
    }
  };

  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  return {
    load: () => average,
    stop: () => {
      clearInterval(timer);
    },
  };
}
