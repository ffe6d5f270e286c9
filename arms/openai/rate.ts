// How fast an arm may call: a token bucket. Pure but for its own count; the clock is passed in.

/** `perMinute` calls a minute in the long run, `burst` of them at once after a pause. */
export function createRateLimit(perMinute: number, burst: number) {
  const perMs = perMinute / 60_000;
  let tokens = burst;
  let updated: number | null = null;

  /** Takes the next slot. Milliseconds from `now`; null: more than `longest`, none is taken. */
  function take(now: number, longest: number): number | null {
    tokens = Math.min(burst, tokens + Math.max(0, now - (updated ?? now)) * perMs);
    updated = Math.max(now, updated ?? now);
    // Below zero are the slots already promised to callers that wait.
    const wait = tokens >= 1 ? 0 : (1 - tokens) / perMs;
    if (wait > longest) return null;
    tokens -= 1;
    return wait;
  }

  return {
    take,
    /** Gives a slot back that was taken and not used. */
    giveBack: (): void => void (tokens = Math.min(burst, tokens + 1)),
  };
}
