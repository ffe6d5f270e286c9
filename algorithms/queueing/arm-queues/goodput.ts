// Goodput: the largest rate of requests at which so large a share of them meets the objectives for
// the first token and for the whole (Zhong et al., "DistServe", 2024).
import type { Outcome } from "./simulate.ts";

export interface Objectives {
  /** Milliseconds from arrival to the first token, and to the end; Infinity: none. */
  firstTokenMs: number;
  totalMs: number;
}

/** Share of the requests that meet both, [0, 1]. */
export function attainment(
  { firstTokenMs, totalMs }: Pick<Outcome, "firstTokenMs" | "totalMs">,
  objectives: Objectives,
): number {
  let met = 0;
  for (let i = 0; i < totalMs.length; i++)
    if (firstTokenMs[i]! <= objectives.firstTokenMs && totalMs[i]! <= objectives.totalMs) met++;
  return totalMs.length === 0 ? 1 : met / totalMs.length;
}

export interface Goodput {
  /** Requests a second; 0: not even a request alone does; Infinity: no rate is too much. */
  ratePerSecond: number;
  /** At that rate; of requests that meet no other where no rate will do. */
  attainment: number;
}

const least = 1e-6;
const most = 1e6;

/**
 * attainmentAt: of a rate, falling with it but for chance. The rate is found to within a hundredth,
 * in at most some 60 trials.
 */
export function goodput(attainmentAt: (ratePerSecond: number) => number, wanted: number, start = 1): Goodput {
  const meets = (rate: number): boolean => attainmentAt(rate) >= wanted;
  let low = Math.min(most, Math.max(least, start));
  let high = low;
  if (meets(low)) {
    do {
      low = high;
      if (high >= most) return { ratePerSecond: Infinity, attainment: attainmentAt(most) };
      high = Math.min(most, high * 2);
    } while (meets(high));
  } else {
    do {
      high = low;
      if (low <= least) return { ratePerSecond: 0, attainment: attainmentAt(least) };
      low = Math.max(least, low / 4);
    } while (!meets(low));
  }
  while (high / low > 1.01) {
    const middle = Math.sqrt(low * high);
    if (meets(middle)) low = middle;
    else high = middle;
  }
  return { ratePerSecond: low, attainment: attainmentAt(low) };
}
