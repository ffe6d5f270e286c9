// Circuit breakers by arm and calling process (algorithms/queueing/breaker.ts). Processes publish
// states (topic breakers); plan takes an arm as open while no process that calls it gets answers.
import { createBreaker, type Breaker, type BreakerState, type Verdict } from "../../algorithms/queueing/breaker.ts";
import { ARM_BROKEN, endedByDeadline, isArmsFault, type Arm, type ArmFailure, type ArmResult } from "../../arms/arm.ts";
import type { Config } from "../../config/schema.ts";
import type { ArmBreaker } from "../../schemas/types.ts";
import { shownReplicas } from "../load/replica-metrics.ts";
import { createBreakerMetrics, type BreakerMetrics } from "./metrics.ts";
import { shareRows, voidMs, type RowSession } from "../process-rows.ts";
import type { SessionOf } from "../session.ts";

/** Half of the calls of 30 s open it, two probes close it; slow deadlines are failures. */
const fixed = { share: 0.5, windowMs: 30_000, probes: 2, slowCallMs: 30_000 };
/** The longest opening, in first openings. */
const mostOpenings = 12;
export const breakerSettings = (breaker: Config["routing"]["breaker"]) => ({
  ...{ ...fixed, ...breaker },
  mostOpenMs: mostOpenings * breaker.openMs,
});
export type BreakerConfig = ReturnType<typeof breakerSettings>;

export interface BreakersOptions {
  settings: BreakerConfig;
  /** Milliseconds by a clock that never goes back. */
  clock: () => number;
  random: () => number;
  others: (arm: string) => readonly Pick<ArmBreaker, "state">[];
  metrics: Pick<BreakerMetrics, "changed">;
  log: SessionOf<object>["log"];
}

export interface Breakers {
  guard(name: string, arm: Pick<Arm, "answer" | "replicas">): Pick<Arm, "answer">;
  /** By what all processes say; half-open as long as this process may choose it for a probe. */
  state(arm: string): BreakerState;
  probed(arm: string): void;
  /** What this process says of arms that it called lately, or whose breaker is not closed. */
  own(): ReadonlyMap<string, Pick<ArmBreaker, "state" | "replicas">>;
}

interface Known {
  breaker: Breaker;
  calledAt: number;
  /** As it was last looked at. */
  seen: BreakerState;
  arm: Pick<Arm, "replicas">;
}

export function createBreakers({ settings, clock, random, others, metrics, log }: BreakersOptions): Breakers {
  const known = new Map<string, Known>();
  /** Probes that plan may choose still, for each half-open arm, since when. */
  const probes = new Map<string, { left: number; since: number }>();

  const of = (arm: string): Known => {
    const found = known.get(arm) ?? { breaker: createBreaker(settings), calledAt: -Infinity, seen: "closed", arm: {} };
    known.set(arm, found);
    return found;
  };
  const look = (arm: string, one: Known): BreakerState => {
    const state = one.breaker.state(clock());
    if (state === one.seen) return state;
    log.warn({ arm, from: one.seen, to: state }, "the breaker of an arm has changed");
    metrics.changed(arm, state);
    one.seen = state;
    return state;
  };

  /** What this process says of an arm; undefined: nothing, it was not called lately. */
  const ownOf = (arm: string, one: Known): BreakerState | undefined => {
    const state = look(arm, one);
    return state !== "closed" || clock() - one.calledAt < voidMs ? state : undefined;
  };

  return {
    own: () =>
      new Map(
        [...known].flatMap(([arm, one]) => {
          const state = ownOf(arm, one);
          return state === undefined ? [] : [[arm, { state, replicas: replicasOf(one.arm) }] as const];
        }),
      ),
    guard: (name, arm) => ({
      async answer(request, signal, onText): Promise<ArmResult> {
        const one = of(name);
        one.arm = arm;
        const turn = one.breaker.enter(clock());
        look(name, one);
        if (turn === undefined && request.replaceable === true) return broken(name);
        const began = (one.calledAt = clock());
        let verdict: Verdict = "ignored";
        try {
          const result = await arm.answer(request, signal, onText);
          verdict = verdictOf(result, clock() - began, settings.slowCallMs);
          return result;
        } finally {
          if (turn !== undefined) one.breaker.leave(turn, verdict, request.tenant ?? "", clock(), random());
          look(name, one);
        }
      },
    }),
    state(arm) {
      const one = known.get(arm);
      const mine = one && ownOf(arm, one);
      const reported = [...(mine === undefined ? [] : [mine]), ...others(arm).map(({ state }) => state)];
      const isClosed = reported.length === 0 || reported.includes("closed");
      if (isClosed || !reported.includes("half-open")) {
        probes.delete(arm);
        return isClosed ? "closed" : "open";
      }
      const given = probes.get(arm);
      if (given === undefined || clock() - given.since >= settings.openMs)
        probes.set(arm, { left: settings.probes, since: clock() });
      return probes.get(arm)!.left > 0 ? "half-open" : "open";
    },
    probed(arm) {
      const given = probes.get(arm);
      if (given !== undefined) given.left--;
    },
  };
}

const replicasOf = (arm: Pick<Arm, "replicas">): ArmBreaker["replicas"] =>
  shownReplicas(arm).map(({ name, breaker, calls, engine }) => ({
    ...{ name, state: breaker, calls },
    running: roundedOrNull(engine?.running),
    waiting: roundedOrNull(engine?.waiting),
    // Rows are sent when they have changed.
    cacheUsage: roundedOrNull(engine?.cacheUsage, 100),
  }));
/** To a share of 1 / parts. */
const roundedOrNull = (value: number | null | undefined, parts = 1): number | null =>
  value === null || value === undefined ? null : Math.round(value * parts) / parts;

export function verdictOf(result: ArmResult, ms: number, slowCallMs: number): Verdict {
  if (result.kind === "answer") return "success";
  // The replica has a breaker of its own (arms/openai/replicas).
  if (result.replicasLeft === true) return "ignored";
  // Clients choose their deadlines: a short one must say nothing of the arm.
  if (endedByDeadline(result)) return result.attempts > 0 && ms >= slowCallMs ? "failure" : "ignored";
  return result.attempts > 0 && isArmsFault(result) ? "failure" : "ignored";
}

const broken = (arm: string): ArmFailure => ({
  ...{ kind: "failure", code: ARM_BROKEN, attempts: 0, retriable: true },
  message: `Arm "${arm}" has failed too often lately and is not called for now.`,
});

export interface SharedBreakers extends Breakers {
  stop(): Promise<void>;
}

export type BreakerSession = RowSession<"breakers"> & Pick<SessionOf<object>, "arms" | "config" | "log" | "metrics">;

export type BreakersOf<B = Breakers> = (session: BreakerSession) => B;

/** With one arm there is nothing to choose: nothing is read, and only its replicas are sent. */
export function shareBreakers(session: BreakerSession, instance: string): SharedBreakers {
  const { log } = session;
  const several = (): boolean => session.arms.configured().length > 1;
  const breakers = createBreakers({
    settings: breakerSettings(session.config.routing.breaker),
    clock: () => performance.now(),
    random: Math.random,
    others: (arm) => rows.others(arm),
    ...{ metrics: createBreakerMetrics(session.metrics), log },
  });
  const rows = shareRows(session, {
    topic: "breakers",
    own: () => new Map([...breakers.own()].filter(([, { replicas }]) => several() || replicas.length > 0)),
    isIdle: () => false,
    follows: several,
    ...{ instance, log },
  });
  return { ...breakers, stop: rows.stop };
}
