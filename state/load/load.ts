// How busy arms are (docs/design/routing.md, Load): unfinished work, or calls of inline arms, over
// what their processes take, or what the arm's engine reports where that is more; read every
// second, half-life 10 s. L: mean of the arms above the cheapest. An unreadable arm keeps its
// average.
import type { Logger } from "pino";
import type { Load } from "../../algorithms/routing/load-bias.ts";
import type { Kafka } from "../../connections/kafka/port.ts";
import { decodeFinished } from "../../runtime/finished-offsets.ts";

export interface MonitoredArm {
  name: string;
  /** What its processes read, as which group: its work; of an inline arm plan's requests. */
  topic: string;
  group: string;
  /** For an inline arm: calls that all processes have under way. */
  calls?: (() => number) | undefined;
  /** How busy its engine reports to be, 1: full; undefined: it does not. */
  engine?: (() => number | undefined) | undefined;
  concurrency: number;
  costlier: boolean;
}

export interface LoadMonitorOptions {
  kafka: Pick<Kafka, "lag" | "members">;
  arms: () => readonly MonitoredArm[];
  now: () => number;
  onRead: (load: Load) => void;
  /** The first reading stands as it is, for who begins now; else an arm begins idle. */
  fromFirst?: boolean;
  log: Logger;
}

const pollMs = 1_000;
const halfLifeMs = 10_000;
/** Processes come and go rarely, and asking for them takes two requests. */
const countEveryMs = 10_000;

export function createLoadMonitor({ kafka, arms, now, onRead, fromFirst = false, log }: LoadMonitorOptions) {
  const averages = new Map<string, { value: number; at: number }>();
  const counts = new Map<string, { members: number; at: number }>();
  let load: Load = { costlier: 0, byArm: new Map() };
  let polling = false;

  const membersOf = async (group: string): Promise<number> => {
    const known = counts.get(group);
    if (known !== undefined && now() - known.at < countEveryMs) return known.members;
    const members = await kafka.members(group);
    counts.set(group, { members, at: now() });
    return members;
  };

  const utilisation = async (arm: MonitoredArm): Promise<number> => {
    const [partitions, members] = await Promise.all([kafka.lag(arm.group, arm.topic), membersOf(arm.group)]);
    const unfinished = arm.calls?.() ?? unfinishedOf(partitions);
    // A member without a partition does no work; one that is down is expected back.
    const atWork = Math.max(1, Math.min(members, partitions.length));
    // Other clients may fill an engine that has little of ours, and ours may wait where it is idle.
    return Math.max(unfinished / (arm.concurrency * atWork), arm.engine?.() ?? 0);
  };

  const read = async (arm: MonitoredArm): Promise<void> => {
    if (!averages.has(arm.name) && !fromFirst) averages.set(arm.name, { value: 0, at: now() });
    try {
      const current = await utilisation(arm);
      const { value, at } = averages.get(arm.name) ?? { value: current, at: now() };
      averages.set(arm.name, { value: current + (value - current) * 2 ** (-(now() - at) / halfLifeMs), at: now() });
    } catch (error) {
      log.debug({ err: error, arm: arm.name }, "the load could not be read; the last average stands");
    }
  };

  const poll = async (): Promise<void> => {
    if (polling) return;
    polling = true;
    const monitored = arms();
    await Promise.all(monitored.map(read));
    const names = new Set(monitored.map(({ name }) => name));
    for (const name of averages.keys()) if (!names.has(name)) averages.delete(name);
    const groups = new Set(monitored.map(({ group }) => group));
    for (const group of counts.keys()) if (!groups.has(group)) counts.delete(group);
    const costlier = monitored.flatMap((arm) => (arm.costlier ? [averages.get(arm.name)?.value ?? 0] : []));
    load = {
      costlier: costlier.reduce((sum, value) => sum + value, 0) / Math.max(1, costlier.length),
      byArm: new Map([...averages].map(([name, { value }]) => [name, value])),
    };
    onRead(load);
    polling = false;
  };

  const timer = setInterval(() => void poll(), pollMs);
  timer.unref();
  return {
    /** Idle until something was read. */
    load: (): Load => load,
    stop: (): void => {
      clearInterval(timer);
    },
  };
}

const unfinishedOf = (partitions: Awaited<ReturnType<Kafka["lag"]>>): number =>
  partitions.reduce((sum, { end, committed, metadata }) => {
    if (committed === undefined) return sum + end;
    return sum + Math.max(0, end - committed - decodeFinished(metadata).length);
  }, 0);
