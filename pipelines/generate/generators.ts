// generate for every queued arm of this process, and the change of arms while it runs: a new arm
// can answer before plan may choose it; a removed one, or one that became inline, finishes its
// work.
import pLimit from "p-limit";
import type { ArmConfig } from "../../config/schema.ts";
import { isInline } from "../../config/sections/arms.ts";
import { repeat } from "../../runtime/repeat.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import type { StageHealth } from "../../runtime/stage-health.ts";
import { withTimeout } from "../../runtime/with-timeout.ts";
import { compareArms } from "../../state/arms.ts";
import type { Session } from "../../state/session.ts";
import { createArmStages, type ArmStages } from "./arm-stages.ts";
import { createLeftoverWork, type PollMs } from "./leftover-work.ts";

export type Generators = Awaited<ReturnType<typeof startGenerators>>;

/** What is not started by then when the process ends is left: nothing of it runs yet. */
const startingMs = 5_000;

/** `open` starts an arm's stage; undefined: this process does not work for it. */
export async function startGenerators(
  session: Session,
  open: (arm: ArmConfig) => Promise<RunningStage | undefined>,
  everyMs: PollMs = { drain: 500, leftovers: 5_000, quiet: 30_000 },
) {
  const { arms, log } = session;
  const stages = createArmStages(open);
  const draining = new AbortController();
  const { signal } = draining;
  const inTurn = pLimit(1);
  const leftovers = createLeftoverWork({ session, stages, everyMs, signal, inTurn });

  await Promise.all(arms.configured().map(stages.startQueued));
  if (arms.configured().every(isInline))
    log.info("all arms are inline: plan calls them itself, and generate only what is left over");
  const serving = repeat(() => leftovers.serveInline(), { everyMs: everyMs.leftovers, signal, log });
  return {
    stages: stages.all,
    /** By stage; without one generate is healthy: alternative answers and leftovers may come. */
    reports: (): Record<string, StageHealth> =>
      stages.all().length === 0
        ? { generate: { joined: true, partitions: 0, inFlight: 0 } }
        : Object.fromEntries(stages.all().map((stage) => [stage.name, stage.health()])),
    /** Rejects, with the old arms in force, when a new one can't be made. */
    replace: (next: readonly ArmConfig[]): Promise<void> =>
      inTurn(async () => {
        const { changed, removed } = await startChanged(session, stages, next);
        arms.replace(next);
        for (const { name } of removed) void leftovers.retire(name);
        for (const arm of next.filter((one) => isInline(one) && stages.get(one.name) !== undefined))
          if (changed.includes(arm) || !leftovers.isStandby(arm)) void leftovers.retire(arm.name);
      }),
    async stop(): Promise<void> {
      draining.abort();
      // It may be starting a stage, which takes for as long as the broker is away.
      await withTimeout(startingMs, serving);
      await stages.stopAll();
    },
  };
}

/** Starts what is new or changed; when one can't be started, what was in force runs again. */
async function startChanged(
  session: Session,
  stages: ArmStages,
  next: readonly ArmConfig[],
): Promise<ReturnType<typeof compareArms>> {
  const { arms, log } = session;
  const change = compareArms(arms.configured(), next);
  await session.prepareArms(change.added.map(({ name }) => name));
  const touched: ArmConfig[] = [];
  try {
    const starts = await Promise.allSettled(change.added.map(stages.startQueued));
    const failed = starts.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    // One after the other; the work of one waits in its topic meanwhile. Two stages of a name
    // can't run at once, so the old one ends before it is known that the new one opens.
    for (const arm of change.changed) {
      touched.push(arm);
      await stages.startQueued(arm);
    }
    return change;
  } catch (error) {
    await Promise.all(change.added.map(({ name }) => stages.stop(name)));
    for (const { name } of touched) {
      const arm = arms.configured().find((one) => one.name === name);
      if (arm === undefined || isInline(arm)) await stages.stop(name);
      else
        await stages.start(arm).catch((err: unknown) => {
          log.error({ err, arm: name }, "an arm can't be started again: its work waits until it is");
        });
    }
    throw error;
  }
}
