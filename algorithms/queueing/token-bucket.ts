// A token bucket whose rate may change at every call. Estimates are corrected later, which may
// leave a debt. Pure but for its level: the time is passed in.

/** It holds what a minute brings, and at least 1. Full at first. */
export function createTokenBucket() {
  let level = Infinity;
  let updated = -Infinity;

  /** A clock that goes back brings nothing, neither then nor when it has caught up. */
  function refill(now: number, perMinute: number): number {
    const capacity = Math.max(1, perMinute);
    const passed = Math.max(0, now - updated);
    updated = Math.max(updated, now);
    level = Math.min(capacity, level + (passed * perMinute) / minuteMs);
    return capacity;
  }
  return {
    /**
     * Takes `amount` and returns 0; or takes nothing and returns the milliseconds after which it
     * could. More than the bucket holds is taken when it is full, and leaves a debt.
     */
    take(amount: number, now: number, perMinute: number): number {
      const needed = Math.min(amount, refill(now, perMinute));
      // What comes by fractions never adds up exactly.
      if (level < needed - rounding) return Math.max(1, Math.ceil(((needed - level) * minuteMs) / perMinute));
      level -= amount;
      return 0;
    },
    /** `difference` more was used than was taken, or less where it is below 0. */
    correct(difference: number, now: number, perMinute: number): void {
      level = Math.min(refill(now, perMinute), level - difference);
    },
  };
}

const minuteMs = 60_000;
const rounding = 1e-6;
