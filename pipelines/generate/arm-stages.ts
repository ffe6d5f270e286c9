// The running stages of arms, one an arm: its previous stage ends before the next one starts.
import type { ArmConfig } from "../../config/schema.ts";
import { isInline } from "../../config/sections/arms.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";

export type ArmStages = ReturnType<typeof createArmStages>;

/** `open` starts an arm's stage; undefined: this process does not work for it. */
export function createArmStages(open: (arm: ArmConfig) => Promise<RunningStage | undefined>) {
  const running = new Map<string, RunningStage>();
  const stopping = new Map<string, Promise<void>>();
  /** Resolves when the stage and those before it have ended. */
  const stop = async (name: string): Promise<void> => {
    const stage = running.get(name);
    running.delete(name);
    const before = stopping.get(name);
    const all = stage === undefined ? before : Promise.all([before, stage.stop()]).then(() => undefined);
    if (all === undefined) return;
    stopping.set(name, all);
    await all.finally(() => {
      if (stopping.get(name) === all) stopping.delete(name);
    });
  };
  /** Rejects when the stage can't be opened. */
  const start = async (arm: ArmConfig): Promise<void> => {
    await stop(arm.name);
    const stage = await open(arm);
    if (stage !== undefined) running.set(arm.name, stage);
  };
  return {
    start,
    /** Does nothing for inline arms. */
    startQueued: async (arm: ArmConfig): Promise<void> => (isInline(arm) ? undefined : start(arm)),
    stop,
    get: (name: string): RunningStage | undefined => running.get(name),
    all: (): readonly RunningStage[] => [...running.values()],
    stopAll: async (): Promise<void> => {
      await Promise.all([...running.keys()].map(stop));
    },
  };
}
