// What the requests of an account under way at this gateway may still cost, each until it is
// answered. One whose client has gone goes on, and so is held until its deadline has passed.

export type HeldCosts = ReturnType<typeof createHeldCosts>;

/** Those that are over are looked for so often at most: many may be held. */
const everyMs = 1_000;

export function createHeldCosts() {
  const held = new Map<string, { cost: number; until: number }>();
  let total = 0;
  let lookedAt = -Infinity;

  const release = (request: string): void => {
    total -= held.get(request)?.cost ?? 0;
    held.delete(request);
    // Nothing is left of what rounding has added up.
    if (held.size === 0) total = 0;
  };

  return {
    /** Another of the same name replaces it. `until`, `now`: milliseconds of one clock. */
    hold(request: string, cost: number, until: number): void {
      release(request);
      held.set(request, { cost, until });
      total += cost;
    },
    release,
    sum(now: number): number {
      if (now - lookedAt >= everyMs) {
        lookedAt = now;
        for (const [request, { until }] of held) if (until <= now) release(request);
      }
      return total;
    },
  };
}
