// The confidence bounds of the LLM cache bandit (VSOCB): what a query costs at least, and how often
// it comes at least, with probability 1 - delta over all rounds.

export interface Horizon {
  /** Requests in all. */
  rounds: number;
  /** Different queries. */
  queries: number;
  /** Default: 1 / rounds. */
  delta?: number;
}

/** The radius of eq. 2 by the number of costs seen. range: largest minus least cost. */
export function costRadius(
  { rounds, queries, delta = 1 / rounds }: Horizon,
  range: number,
): (misses: number) => number {
  const log = Math.log((8 * rounds * queries) / delta);
  return (misses) => range * Math.sqrt(log / (2 * misses));
}

/**
 * Eq. 3 and 4, an empirical Bernstein bound: arrivals of `now` requests were this query's. The
 * variance of a share p of ones is p (1 - p).
 */
export function leastPopularity(
  { rounds, queries, delta = 1 / rounds }: Horizon,
  scale: number,
): (arrivals: number, now: number) => number {
  const log = Math.log((16 * rounds * queries) / delta);
  return (arrivals, now) => {
    const share = arrivals / now;
    const variance = share * (1 - share);
    return Math.max(0, share - scale * Math.sqrt((3 * variance * log) / now) - (scale * 5 * log) / now);
  };
}

/** What was seen of a query. */
export interface Counts {
  arrivals: number;
  misses: number;
  /** Sum over its misses. */
  costs: number;
}

/**
 * Least popularity times least mean cost, 0 before the first miss. scale 1: as in the paper; 0:
 * means.
 */
export function leastWorth(
  horizon: Horizon,
  scale: number,
  costRange: number,
): (counts: Counts, now: number) => number {
  const radius = costRadius(horizon, costRange);
  const popularity = leastPopularity(horizon, scale);
  return ({ arrivals, misses, costs }, now) =>
    misses === 0 ? 0 : popularity(arrivals, now) * Math.max(0, costs / misses - scale * radius(misses));
}
