// G(e): time-decayed sum of g = (1 - q) * c over an example's uses. The view example_gain computes
// the same; this is its definition and check.

/** rho: share of G that is left after an hour. The view has the same constant. */
const gainRetention = 0.9;

/** g of one use: quality in [0, 1] (clipped), cost C_i in [0, 1]. */
export const useGain = (quality: number, cost: number): number => (1 - Math.min(1, Math.max(0, quality))) * cost;

/**
 * G after `now`'s hour: G_h = rho * G_(h-1) + (1 - rho) * total_h; idle hours count 0. Hours since
 * the epoch in any order; later ones than `now` do not count.
 */
export function decayedGain(
  totals: readonly { hour: number; total: number }[],
  now: number,
  retention: number = gainRetention,
): number {
  const known = totals.filter(({ hour }) => hour <= now).sort((a, b) => a.hour - b.hour);
  let gain = 0;
  let at = known[0]?.hour ?? now;
  for (const { hour, total } of known) {
    gain = gain * retention ** (hour - at) + (1 - retention) * total;
    at = hour;
  }
  return gain * retention ** (now - at);
}
