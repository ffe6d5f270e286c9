// Chooses the replica for a call by its prefix, unless that replica is unavailable or exceeds the
// load bound (algorithms/queueing/bounded-rendezvous.ts). Each replica has its own breaker.
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
  /** Call once, when the call is over. retryAfterMs: time without calls to this replica. */
  end(verdict: Verdict, flow: string, retryAfterMs: number | null): void;
}

export interface Replicas {
  /** `tried`: names of replicas that already got the request; they are the last choice. */
  acquire(key: () => string, tried: ReadonlySet<string>): Lease;
  /** Whether an untried replica is healthy. */
  hasOther(tried: ReadonlySet<string>): boolean;
  /** Whether an untried replica may be called, half-open ones included. */
  isLeft(tried: ReadonlySet<string>): boolean;
  states(): ReplicaState[];
}

/** Chooses one of the names by key and load. */
export type Choose = (
  key: () => string,
  names: readonly string[],
  loadOf: (name: string) => number,
) => string | undefined;

const byPrefix: Choose = (key, names, loadOf) => withinBound(rendezvousOrder(key(), names), loadOf);

export interface ReplicasOptions {
  members: Pick<Members, "now">;
  breaker: BreakerSettings;
  /** Monotonic, in milliseconds. */
  clock: () => number;
  random: () => number;
  /** For benchmarks. */
  choose?: Choose | undefined;
}

interface State {
  calls: number;
  /** This process's calls when that report was first seen: the report includes them. */
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

  /** Its requests: as reported plus calls since then, at least this process's calls. */
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
          // Half-open, with all probes in progress.
          among = among.filter((one) => one !== member);
        }
      }
      // No replica is healthy: the request is sent anyway, because the arm has no other.
      const last = [untried.filter((one) => !isPaused(one)), untried, all].find(({ length }) => length > 0) ?? [];
      const member = chosen(key, last);
      if (member === undefined) throw new Error("an arm without an endpoint");
      return lease(member, undefined);
    },
    hasOther: (tried) =>
      members
        .now()
        .some((one) => !tried.has(one.name) && !isPaused(one) && stateOf(one).breaker.state(clock()) === "closed"),
    isLeft: (tried) => members.now().some((one) => !tried.has(one.name) && isIn(one)),
    states: () =>
      members.now().map((member) => {
        const { breaker: own, calls } = stateOf(member);
        const engine = member.engine()?.load;
        return { name: member.name, calls, load: loadOf(member), breaker: own.state(clock()), engine };
      }),
  };
}
