// A circuit breaker. It opens when enough of a bounded window of outcomes are failures, for a time
// that doubles each time; half-open, a few probes close it or one failure opens it. The share of
// failures is the mean over flows (tenants), so that no tenant opens it for the others. Unreachable
// endpoints are not a tenant's fault: two such failures in a row open it. Pure.
import { waitAfter } from "./backoff.ts";

export interface BreakerSettings {
  /** Mean of the flows' shares of failures from which it opens, (0, 1]. */
  share: number;
  /** Outcomes in the window before it may open. */
  minimum: number;
  windowMs: number;
  /** How long it is open at first, and at the most. */
  openMs: number;
  mostOpenMs: number;
  /** Let through at a time while half-open, and successes that close it. */
  probes: number;
}

export type BreakerState = "closed" | "open" | "half-open";

/**
 * success: the arm answered; failure: the arm could not; unreachable: nothing came back, not even
 * an error; ignored: no evidence of its health.
 */
export type Verdict = "success" | "failure" | "unreachable" | "ignored";

export interface BreakerTurn {
  readonly probe: boolean;
  /** Changes whenever it opens or closes; outcomes of calls from earlier epochs are ignored. */
  readonly epoch: number;
}

export type Breaker = ReturnType<typeof createBreaker>;

interface Outcome {
  at: number;
  isFailure: boolean;
}

const mostFlows = 64;
/** A single failure may be a connection that the server closed while idle. */
const unreachableInARow = 2;
/** Share of the time that may be added by chance, so that processes do not probe together. */
const jitter = 0.25;

export function createBreaker(settings: BreakerSettings) {
  const { share, minimum, windowMs, probes } = settings;
  const perFlow = 2 * minimum;
  const flows = new Map<string, Outcome[]>();
  let epoch = 0;
  /** In a row, since it was closed; 0: it is closed. */
  let openings = 0;
  let openUntil = 0;
  let openFor = 0;
  let probing = 0;
  let probedAt = 0;
  let succeeded = 0;
  let unreachable = 0;

  const open = (now: number, random: number): void => {
    openFor = waitAfter(openings, { first: settings.openMs, limit: settings.mostOpenMs }) * (1 + jitter * random);
    openings++;
    openUntil = now + openFor;
    epoch++;
    probing = 0;
    succeeded = 0;
    unreachable = 0;
    flows.clear();
  };
  const close = (): void => {
    openings = 0;
    epoch++;
  };

  const remember = (flow: string, outcome: Outcome): void => {
    const own = flows.get(flow) ?? [];
    flows.delete(flow); // moves it to the end, so that the least recently active flow is first
    flows.set(flow, [...own, outcome].slice(-perFlow));
    for (const [name, outcomes] of flows) {
      const kept = outcomes.filter(({ at }) => outcome.at - at < windowMs);
      if (kept.length === 0 || flows.size > mostFlows) flows.delete(name);
      else flows.set(name, kept);
    }
  };
  const isFailing = (): boolean => {
    let count = 0;
    let shares = 0;
    for (const outcomes of flows.values()) {
      count += outcomes.length;
      shares += outcomes.filter(({ isFailure }) => isFailure).length / outcomes.length;
    }
    return count >= minimum && shares / flows.size >= share;
  };

  const state = (now: number): BreakerState => (openings === 0 ? "closed" : now < openUntil ? "open" : "half-open");

  return {
    state,
    /** undefined: not now. The caller must return an acquired turn with `leave`. */
    enter(now: number): BreakerTurn | undefined {
      const current = state(now);
      if (current === "closed") return { probe: false, epoch };
      if (current === "open") return undefined;
      // Probes without an outcome expire after the open interval, so that they block no others.
      if (probing > 0 && now - probedAt >= openFor) probing = 0;
      if (probing >= probes) return undefined;
      probing++;
      probedAt = now;
      return { probe: true, epoch };
    },
    /** `random` in [0, 1). */
    leave(turn: BreakerTurn, verdict: Verdict, flow: string, now: number, random: number): void {
      if (turn.epoch !== epoch) return;
      if (turn.probe) {
        probing = Math.max(0, probing - 1);
        if (verdict === "failure" || verdict === "unreachable") open(now, random);
        else if (verdict === "success" && ++succeeded >= probes) close();
        return;
      }
      if (verdict === "ignored") return;
      const isFailure = verdict !== "success";
      unreachable = verdict === "unreachable" ? unreachable + 1 : 0;
      remember(flow, { at: now, isFailure });
      if (unreachable >= unreachableInARow || (isFailure && isFailing())) open(now, random);
    },
  };
}
