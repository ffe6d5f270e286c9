// Gives a share of an owner's requests in the hour something extra, up to a maximum. Bounded:
// owners beyond the bound get nothing until the next hour. Pure but for its counts.

export interface ShareBudgetOptions {
  /** [0, 1]. */
  share: number;
  perHour: number;
  /** That are counted. */
  owners?: number;
}

const hourMs = 3_600_000;

/** Times in milliseconds since the epoch; one that goes back counts to the hour that is open. */
export function createShareBudget({ share, perHour, owners = 16_384 }: ShareBudgetOptions) {
  const counts = new Map<string, { requests: number; taken: number }>();
  let hour = -Infinity;

  const countsOf = (owner: string, now: number): { requests: number; taken: number } | undefined => {
    const current = Math.floor(now / hourMs);
    if (current > hour) {
      counts.clear();
      hour = current;
    }
    const known = counts.get(owner);
    if (known !== undefined || counts.size >= owners) return known;
    const fresh = { requests: 0, taken: 0 };
    counts.set(owner, fresh);
    return fresh;
  };

  return {
    /** One more request of the owner. */
    count(owner: string, now: number): void {
      const counted = countsOf(owner, now);
      if (counted !== undefined) counted.requests++;
    },
    /** Takes one, or says false and takes nothing. */
    take(owner: string, now: number): boolean {
      const counted = countsOf(owner, now);
      const most = share <= 0 ? 0 : Math.min(perHour, Math.max(1, share * (counted?.requests ?? 0)));
      if (counted === undefined || counted.taken + 1 > most) return false;
      counted.taken++;
      return true;
    },
  };
}
