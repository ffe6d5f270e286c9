// Requests in progress that others wait for. The first of equal requests leads; followers wait for
// its answer (topic or ClickHouse), for half of their time at most, then lead. If it ends without
// one the longest waiting leads. In memory, bounded: beyond, a request goes alone.
import type { Logger } from "pino";
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { LeaderOutcome, LeaderOutcomes } from "./leader-outcomes.ts";
import type { CachedAnswer } from "./entries.ts";

/** What became of a follower: it has an answer, or it leads; gone: its signal was aborted. */
export type Released = { kind: "answer"; answer: CachedAnswer } | { kind: "leads" } | { kind: "gone" };

export interface Asking {
  tenant: string;
  id: string;
  arrivedAt: number;
  deadline: number;
}

export interface UnderWay {
  /** Whether to follow; false: no identical request leads, and this one does if there is room. */
  follows(key: string, asking: Asking): boolean;
  /** Waits. */
  follow(key: string, asking: Asking, signal: AbortSignal): Promise<Released>;
  /** An answer came under that key. */
  answered(key: string, answer: CachedAnswer): void;
  /** Forgets leaders whose time is over. */
  sweep(): void;
  waiting(): number;
}

const mostLeaders = 16_384;

export interface UnderWayOptions {
  outcomes: LeaderOutcomes;
  followers: number;
  /** Milliseconds between two looks for the outcomes of leaders. */
  everyMs?: number;
  clock: () => number;
  log: Logger;
}

interface Flight {
  leader: Asking;
  waiting: Set<Waiter>;
}
interface Waiter {
  asking: Asking;
  release(released: Released): void;
}

export function createUnderWay(options: UnderWayOptions): UnderWay {
  const { outcomes, followers, everyMs = 1_000, clock, log } = options;
  const flights = new Map<string, Flight>();
  let waiters = 0;
  let timer: NodeJS.Timeout | undefined;

  const isOver = ({ leader, waiting }: Flight): boolean => waiting.size === 0 && leader.deadline <= clock();

  /** The one that has waited longest. */
  const nextLeads = (flight: Flight): void => {
    const [next] = flight.waiting;
    if (next === undefined) return;
    flight.leader = next.asking;
    next.release({ kind: "leads" });
  };

  const giveAnswer = (flight: Flight, answer: CachedAnswer, until = Infinity): void => {
    for (const { asking, release } of [...flight.waiting])
      // A request that came later was never under way at the same time.
      if (asking.arrivedAt <= until) release({ kind: "answer", answer });
  };

  const conclude = (key: string, flight: Flight, outcome: LeaderOutcome): void => {
    if (outcome.answer !== null) giveAnswer(flight, outcome.answer, outcome.createdAt);
    if (flight.waiting.size > 0) nextLeads(flight);
    else flights.delete(key);
  };

  async function look(): Promise<void> {
    const open = [...flights].filter(([, { waiting }]) => waiting.size > 0);
    if (open.length === 0) return;
    try {
      const found = await outcomes.find(
        open.map(([, { leader }]) => leader),
        clock(),
      );
      for (const [key, flight] of open) {
        const outcome = found.get(requestKey(flight.leader.tenant, flight.leader.id));
        if (outcome !== undefined) conclude(key, flight, outcome);
      }
    } catch (error) {
      log.debug({ err: error }, "what became of requests under way is not known: those that wait for them go on");
    }
  }

  const watch = (): void => {
    if (timer !== undefined || waiters === 0) return;
    timer = setTimeout(() => {
      void look().finally(() => {
        timer = undefined;
        watch();
      });
    }, everyMs);
    timer.unref();
  };

  return {
    follows(key, asking) {
      const flight = flights.get(key);
      if (flight !== undefined && isOver(flight)) flights.delete(key);
      else if (flight !== undefined)
        // The same record, taken up again.
        return flight.leader.id !== asking.id && flight.waiting.size < followers;
      if (followers > 0 && flights.size < mostLeaders) flights.set(key, { leader: asking, waiting: new Set() });
      return false;
    },

    follow(key, asking, signal) {
      const flight = flights.get(key);
      if (flight === undefined) {
        // Its leader has ended since.
        if (flights.size < mostLeaders) flights.set(key, { leader: asking, waiting: new Set() });
        return Promise.resolve({ kind: "leads" });
      }
      if (signal.aborted) return Promise.resolve({ kind: "gone" });
      return new Promise((resolve) => {
        const release = (released: Released): void => {
          if (!flight.waiting.delete(waiter)) return;
          waiters--;
          clearTimeout(timer);
          signal.removeEventListener("abort", abort);
          resolve(released);
        };
        const waiter: Waiter = { asking, release };
        const abort = (): void => release({ kind: "gone" });
        const timer = setTimeout(
          () => {
            flight.leader = asking;
            release({ kind: "leads" });
          },
          Math.max(0, (asking.deadline - clock()) / 2),
        );
        signal.addEventListener("abort", abort, { once: true });
        flight.waiting.add(waiter);
        waiters++;
        watch();
      });
    },

    answered(key, answer) {
      const flight = flights.get(key);
      if (flight === undefined) return;
      flights.delete(key);
      giveAnswer(flight, answer);
    },

    sweep() {
      for (const [key, flight] of flights) if (isOver(flight)) flights.delete(key);
    },
    waiting: () => waiters,
  };
}
