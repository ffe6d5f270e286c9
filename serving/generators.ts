// generate for every arm of this process, and the change of arms while it runs: a new arm can
// answer before plan may choose it, a removed one finishes what it was given.
import { setTimeout as sleep } from "node:timers/promises";
import type { ArmConfig } from "../config/schema.ts";
import { compareArms } from "./arms.ts";
import type { Session } from "./session.ts";
import { groupName, type RunningStage } from "./stage.ts";

export interface Generators {
  stages(): readonly RunningStage[];
  /**
   * Brings the arms into force; rejects, with the old ones still in force, when a new one can't be
   * made.
   */
  replace(arms: readonly ArmConfig[]): Promise<void>;
  stop(): Promise<void>;
}

const drainPollMs = 500;

/** `open` starts an arm's stage; undefined: this process does not work for it. */
export async function startGenerators(
  session: Session,
  open: (arm: ArmConfig) => Promise<RunningStage | undefined>,
): Promise<Generators> {
  const running = new Map<string, RunningStage>();
  const draining = new AbortController();
  const start = async (arm: ArmConfig): Promise<void> => {
    const stage = await open(arm);
    if (stage !== undefined) running.set(arm.name, stage);
  };
  const stop = async (name: string): Promise<void> => {
    const stage = running.get(name);
    running.delete(name);
    await stage?.stop();
  };

  /** Plan gives it nothing any more; what it was given ends at its deadline at the latest. */
  const retire = async (name: string): Promise<void> => {
    const end = Date.now() + session.config.limits.deadlineMs;
    const group = groupName(session.config.kafka.prefix, "generate", name);
    const unfinished = async (): Promise<boolean> => {
      const partitions = await session.kafka.lag(group, session.topic("work", name)).catch(() => undefined);
      return partitions === undefined || partitions.some(({ end, committed }) => end > (committed ?? 0));
    };
    while (!draining.signal.aborted && Date.now() < end && (await unfinished())) await sleep(drainPollMs);
    await stop(name);
  };

  await Promise.all(session.arms.configured().map(start));
  return {
    stages: () => [...running.values()],
    async replace(arms) {
      const { added, changed, removed } = compareArms(session.arms.configured(), arms);
      await session.prepareArms(added.map(({ name }) => name));
      await Promise.all(added.map(start));
      for (const arm of changed) {
        await stop(arm.name); // its work waits in the topic meanwhile
        await start(arm);
      }
      session.arms.replace(arms);
      for (const { name } of removed) void retire(name);
    },
    async stop() {
      draining.abort();
      await Promise.all([...running.keys()].map(stop));
    },
  };
}
