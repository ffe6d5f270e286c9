// Which replica of an arm a call goes to: the one that its prefix hashes to, unless it is out or
// busier than the others (algorithms/queueing/bounded-rendezvous.ts). A replica that fails is taken
// out alone, by a breaker of its own, and tried again half-open.
import {
  createBreaker,
  type Breaker,
  type BreakerSettings,
  type Verdict,
} from "../../../algorithms/queueing/breaker.ts";
import { rendezvousOrder, withinBound } from "../../../algorithms/queueing/bounded-rendezvous.ts";
import type { ReplicaState } from "../../arm.ts";
import type { Member, Members } from "./members.ts";

export interface Lease {
  readonly replica: Member;
  /** Once, when its call is over. retryAfterMs: it is not to be called for so long. */
  end(verdict: Verdict, flow: string, retryAfterMs: number | null): void;
}

export interface Replicas {
  /** `tried`: names of those that the same request was sent to; they are the last choice. */
  acquire(key: () => string, tried: ReadonlySet<string>): Lease;
  /** Whether one that was not tried is healthy. */
  hasOther(tried: ReadonlySet<string>): boolean;
  states(): ReplicaState[];
}

/** The names from the first choice to the last, and their loads: which one gets the call. */
export type Choose = (
  key: () => string,
  names: readonly string[],
  loadOf: (name: string) => number,
) => string | undefined;

const byPrefix: Choose = (key, names, loadOf) => withinBound(rendezvousOrder(key(), names), loadOf);

export interface ReplicasOptions {
  members: Pick<Members, "now">;
  breaker: BreakerSettings;
  /** Milliseconds by a clock that never goes back. */
  clock: () => number;
  random: () => number;
  /** For benchmarks. */
  choose?: Choose | undefined;
}

interface State {
  calls: number;
  /** Calls of ours when the report of that version was first seen: it has them. */
  reported: { version: number; calls: number };
  breaker: Breaker;
  pausedUntil: number;
}

export function createReplicas({ members, breaker, clock, random, choose = byPrefix }: ReplicasOptions): Replicas {
  const states = new WeakMap<Member, State>();

  const stateOf = (member: Member): State => {
    const known = states.get(member);
    if (known !== undefined) return known;
    const fresh = {
      calls: 0,
      reported: { version: 0, calls: 0 },
      breaker: createBreaker(breaker),
      pausedUntil: -Infinity,
    };
    states.set(member, fresh);
    return fresh;
  };

  /** Requests that it has: as it reports, with what we sent since; at least our own. */
  const loadOf = (member: Member): number => {
    const state = stateOf(member);
    const report = member.engine();
    if (report === undefined) return state.calls;
    if (report.version !== state.reported.version) state.reported = { version: report.version, calls: state.calls };
    const { running, waiting } = report.load;
    return Math.max(state.calls, (running ?? 0) + waiting + state.calls - state.reported.calls);
  };

  const isPaused = (member: Member): boolean => clock() < stateOf(member).pausedUntil;
  const isIn = (member: Member): boolean => !isPaused(member) && stateOf(member).breaker.state(clock()) !== "open";

  const chosen = (key: () => string, among: readonly Member[]): Member | undefined => {
    if (among.length < 2) return among[0];
    const byName = new Map(among.map((member) => [member.name, member]));
    const name = choose(key, [...byName.keys()], (one) => loadOf(byName.get(one)!));
    return name === undefined ? undefined : byName.get(name);
  };

  const lease = (member: Member, turn: ReturnType<Breaker["enter"]>): Lease => {
    const state = stateOf(member);
    state.calls++;
    return {
      replica: member,
      end(verdict, flow, retryAfterMs) {
        state.calls--;
        if (retryAfterMs !== null) state.pausedUntil = Math.max(state.pausedUntil, clock() + retryAfterMs);
        if (turn !== undefined) state.breaker.leave(turn, verdict, flow, clock(), random());
      },
    };
  };

  return {
    acquire(key, tried) {
      const all = members.now();
      const untried = all.filter(({ name }) => !tried.has(name));
      for (const group of [untried, all]) {
        for (let among = group.filter(isIn); among.length > 0;) {
          const member = chosen(key, among)!;
          const turn = stateOf(member).breaker.enter(clock());
          if (turn !== undefined) return lease(member, turn);
          // Half-open, with its probes under way.
          among = among.filter((one) => one !== member);
        }
      }
      // None is healthy: the request is sent all the same, for the arm has no other.
      const last = [untried.filter((one) => !isPaused(one)), untried, all].find(({ length }) => length > 0) ?? [];
      const member = chosen(key, last);
      if (member === undefined) throw new Error("an arm without an endpoint");
      return lease(member, undefined);
    },
    hasOther: (tried) =>
      members
        .now()
        .some((one) => !tried.has(one.name) && !isPaused(one) && stateOf(one).breaker.state(clock()) === "closed"),
    states: () =>
      members.now().map((member) => {
        const { breaker: own, calls } = stateOf(member);
        const engine = member.engine()?.load;
        return { name: member.name, calls, load: loadOf(member), breaker: own.state(clock()), engine };
      }),
  };
}
