// Requests to arms that share one core, first come first served: when each is answered, and how
// busy that makes the arms meanwhile. The queue is simulated. Pure.
import type { Load } from "../../algorithms/routing/load-bias.ts";
import type { Served } from "./rounds.ts";

/** Times are in seconds from the beginning. */
export interface Policy {
  /** An arm, by its index. */
  choose(item: number, now: number, load: Load): number;
  /** The answer is there, and rated. */
  finished?(item: number, arm: number): void;
}

export interface Answered {
  item: number;
  arm: number;
  /** From arrival to the whole answer, seconds. */
  seconds: number;
}

/** As state/load/load.ts. */
const halfLife = 10;

/** arrivals: seconds, ascending, one a round; arms: names and costs of those that are chosen. */
export function serveQueued(
  rounds: readonly Served[],
  arrivals: readonly number[],
  arms: readonly { name: string; cost: number }[],
  policy: Policy,
): Answered[] {
  const busy = createBusy(arms);
  const underWay: (Answered & { at: number })[] = [];
  let free = 0;
  const finishUntil = (now: number): void => {
    while (underWay.length > 0 && underWay[0]!.at <= now) {
      const { item, arm, at } = underWay.shift()!;
      busy.add(arm, -1, at);
      policy.finished?.(item, arm);
    }
  };
  return arrivals.map((now, item) => {
    finishUntil(now);
    const arm = policy.choose(item, now, busy.load(now));
    busy.add(arm, 1, now);
    free = Math.max(free, now) + rounds[item]!.cpu[arm]!;
    const answered = { item, arm, seconds: free - now };
    underWay.push({ ...answered, at: free });
    return answered;
  });
}

/** Unfinished requests of each arm, averaged over time as the load monitor does. */
function createBusy(arms: readonly { name: string; cost: number }[]) {
  const counts = arms.map(() => 0);
  const averages = arms.map(() => 0);
  const cheapest = Math.min(...arms.map(({ cost }) => cost));
  let last = 0;
  const pass = (now: number): void => {
    const kept = 2 ** (-(now - last) / halfLife);
    counts.forEach((count, arm) => (averages[arm] = count + (averages[arm]! - count) * kept));
    last = now;
  };
  return {
    add(arm: number, change: number, at: number): void {
      pass(at);
      counts[arm]! += change;
    },
    load(now: number): Load {
      pass(now);
      const costlier = averages.filter((_, arm) => arms[arm]!.cost > cheapest);
      return {
        costlier: costlier.reduce((sum, value) => sum + value, 0) / Math.max(1, costlier.length),
        byArm: new Map(arms.map(({ name }, arm) => [name, averages[arm]!])),
      };
    },
  };
}
