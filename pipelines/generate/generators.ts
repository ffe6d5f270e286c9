// generate for every queued arm, and the change of arms: new ones can answer before plan chooses
// them, removed ones finish. Inline arms have a stage where they take over from queued ones, or
// while stray work (alternative answers, former work) is found.
import { setTimeout as sleep } from "node:timers/promises";
import type { ArmConfig } from "../../config/schema.ts";
import { computing } from "../../arms/routed.ts";
import { repeat } from "../../runtime/repeat.ts";
import { compareArms } from "../../state/arms.ts";
import type { Session } from "../../state/session.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import { isWorkLeft } from "../../state/work-left.ts";

export interface Generators {
  stages(): readonly RunningStage[];
  /** Rejects, with the old arms in force, when a new one can't be made. */
  replace(arms: readonly ArmConfig[]): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Polls of draining arms and of inline arms' topics; how long an inline arm's stage waits for more,
 * since joining takes seconds.
 */
const pollMs = { drain: 500, leftovers: 5_000, quiet: 30_000 };

/** `open` starts an arm's stage; undefined: this process does not work for it. */
export async function startGenerators(
  session: Session,
  open: (arm: ArmConfig) => Promise<RunningStage | undefined>,
  everyMs = pollMs,
): Promise<Generators> {
  const running = new Map<string, RunningStage>();
  const stopping = new Map<string, Promise<void>>();
  const draining = new AbortController();
  const start = async (arm: ArmConfig): Promise<void> => {
    await stop(arm.name); // it may still be finishing what it was given before
    const stage = await open(arm);
    if (stage !== undefined) running.set(arm.name, stage);
  };
  const startQueued = async (arm: ArmConfig): Promise<void> => {
    if (arm.dispatch === "queued") await start(arm);
  };
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

  /** Whether its stage runs though plan calls the arm: as a fallback. */
  const standsBy = ({ name, dispatch }: ArmConfig): boolean =>
    dispatch === "inline" &&
    session.config.routing.fallbacks > 0 &&
    session.arms.configured().some((arm) => arm.dispatch === "queued") &&
    computing(session.arms.routed()).some((arm) => arm.name === name);

  /** As it is in force still: what was to replace it can't be made. */
  const startAgain = async (name: string): Promise<void> => {
    const arm = session.arms.configured().find((one) => one.name === name);
    if (arm?.dispatch !== "queued") return stop(name);
    await start(arm).catch((error: unknown) => {
      session.log.error({ err: error, arm: name }, "an arm can't be started again: its work waits until it is");
    });
  };

  /** Whether records stand in its work topic; undefined: not known now. */
  const unfinished = (name: string): Promise<boolean | undefined> =>
    isWorkLeft(session.kafka, {
      prefix: session.config.kafka.prefix,
      arm: name,
      topic: session.topic("work", name),
    }).catch(() => undefined);

  /** Plan gives it nothing any more; what it has ends at its deadline. */
  const retire = async (name: string, quietMs = 0): Promise<void> => {
    const stage = running.get(name);
    let quietAt = Date.now() + quietMs;
    const end = quietAt + session.config.limits.deadlineMs;
    while (!draining.signal.aborted && Date.now() < end) {
      if ((await unfinished(name)) !== false) quietAt = Date.now() + quietMs;
      else if (Date.now() >= quietAt) break;
      await sleep(everyMs.drain);
    }
    // Meanwhile it may have come back, as another stage.
    if (running.get(name) === stage) await stop(name);
  };

  /** Arms are not changed while a stage is started for what an inline one has left. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };

  const serveInline = async (): Promise<boolean> => {
    for (const arm of session.arms.configured()) {
      if (arm.dispatch === "queued" || running.has(arm.name)) continue;
      if (!standsBy(arm) && (await unfinished(arm.name)) !== true) continue;
      await inTurn(async () => {
        if (draining.signal.aborted || !session.arms.configured().includes(arm)) return;
        await start(arm);
        if (!running.has(arm.name) || standsBy(arm)) return;
        session.log.info({ arm: arm.name }, "the arm is inline and its work topic is not empty: its work is finished");
        void retire(arm.name, everyMs.quiet);
      });
    }
    return false;
  };

  await Promise.all(session.arms.configured().map(startQueued));
  if (session.arms.configured().every(({ dispatch }) => dispatch === "inline"))
    session.log.info("all arms are inline: plan calls them itself, and no stage generate runs");
  const inline = repeat(serveInline, {
    ...{ everyMs: everyMs.leftovers, signal: draining.signal, log: session.log },
  });
  return {
    stages: () => [...running.values()],
    replace: (arms) =>
      inTurn(async () => {
        const { added, changed, removed } = compareArms(session.arms.configured(), arms);
        await session.prepareArms(added.map(({ name }) => name));
        const touched: ArmConfig[] = [];
        try {
          const starts = await Promise.allSettled(added.map(startQueued));
          const failed = starts.find((result) => result.status === "rejected");
          if (failed !== undefined) throw failed.reason;
          // One after the other; the work of one waits in its topic meanwhile. Two stages of a name
          // can't run at once, so the old one ends before it is known that the new one opens.
          for (const arm of changed) {
            touched.push(arm);
            await startQueued(arm);
          }
        } catch (error) {
          await Promise.all(added.map(({ name }) => stop(name)));
          for (const { name } of touched) await startAgain(name);
          throw error;
        }
        session.arms.replace(arms);
        for (const { name } of removed) void retire(name);
        for (const arm of arms.filter(({ name, dispatch }) => dispatch === "inline" && running.has(name)))
          if (changed.includes(arm) || !standsBy(arm)) void retire(arm.name);
      }),
    async stop() {
      draining.abort();
      await inline; // it may be starting a stage
      await Promise.all([...running.keys()].map(stop));
    },
  };
}
