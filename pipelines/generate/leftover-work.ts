// Work that arms have left: of arms that plan gives no more, and of inline ones. An inline arm has
// a work topic as well. Where it takes over from a queued arm its stage runs all the time; other
// work (alternative answers, work from before a restart or from a plan process with older arms) is
// done by a stage that ends when the topic has been empty for a while.
import { setTimeout as sleep } from "node:timers/promises";
import type { ArmConfig } from "../../config/schema.ts";
import { isInline } from "../../config/sections/arms.ts";
import { computing } from "../../arms/routed.ts";
import type { Session } from "../../state/session.ts";
import { isWorkLeft } from "../../state/work-left.ts";
import type { ArmStages } from "./arm-stages.ts";

export interface PollMs {
  /** Between two looks at the topic of an arm that is being retired. */
  drain: number;
  /** Between two looks at the topics of inline arms. */
  leftovers: number;
  /** How long an inline arm's topic is empty before its stage ends: joining takes seconds. */
  quiet: number;
}

export interface LeftoverOptions {
  session: Session;
  stages: ArmStages;
  everyMs: PollMs;
  /** Aborted when the process stops. */
  signal: AbortSignal;
  /** Arms are not changed while a stage is started for what an inline one has left. */
  inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}

export function createLeftoverWork({ session, stages, everyMs, signal, inTurn }: LeftoverOptions) {
  const { arms, config, kafka, log } = session;
  /** Whether the stage of an inline arm runs always: generate hands work of failing arms to it. */
  const isStandby = (one: ArmConfig): boolean =>
    isInline(one) &&
    config.routing.fallbacks > 0 &&
    arms.configured().some((arm) => !isInline(arm)) &&
    computing(arms.routed()).some((arm) => arm.name === one.name);

  /** Whether records stand in its work topic; undefined: not known now. */
  const unfinished = (name: string): Promise<boolean | undefined> =>
    isWorkLeft(kafka, { prefix: config.kafka.prefix, arm: name, topic: session.topic("work", name) }).catch(
      () => undefined,
    );

  /** Ends the stage when its topic was empty for `quietMs`, or its work is past the deadline. */
  const retire = async (name: string, quietMs = 0): Promise<void> => {
    const stage = stages.get(name);
    let quietAt = Date.now() + quietMs;
    const end = quietAt + config.limits.deadlineMs;
    while (!signal.aborted && Date.now() < end) {
      if ((await unfinished(name)) !== false) quietAt = Date.now() + quietMs;
      else if (Date.now() >= quietAt) break;
      await sleep(everyMs.drain);
    }
    // Meanwhile it may have come back, as another stage.
    if (stages.get(name) === stage) await stages.stop(name);
  };

  const serve = async (arm: ArmConfig): Promise<void> => {
    if (signal.aborted || !arms.configured().includes(arm)) return;
    await stages.start(arm);
    if (stages.get(arm.name) === undefined || isStandby(arm)) return;
    log.info({ arm: arm.name }, "the arm is inline and its work topic is not empty: its work is finished");
    void retire(arm.name, everyMs.quiet);
  };
  return {
    isStandby,
    retire,
    /** Starts stages of inline arms that have work. */
    async serveInline(): Promise<void> {
      for (const arm of arms.configured()) {
        if (!isInline(arm) || stages.get(arm.name) !== undefined) continue;
        if (isStandby(arm) || (await unfinished(arm.name)) === true) await inTurn(() => serve(arm));
      }
    },
  };
}
