// The policy "auto" of linked prefill (docs/design/linked-prefill.md, Policies): for each kind of
// chunk the cheapest policy whose mean divergence plus two standard errors stays below a bound.

export interface PolicyRecord {
  /** Samples, decayed. */
  weight: number;
  /** Mean divergence from a full prefill, nats, and the mean of its square. */
  kl: number;
  klSquared: number;
  /** Mean share of recomputed tokens, [0, 1]: what it costs. */
  share: number;
}

export const noRecord: Readonly<PolicyRecord> = { weight: 0, kl: 0, klSquared: 0, share: 0 };

/** Half-life of a sample's weight, in samples: prompts and caches change. */
export const memory = 200;

/** A divergence that is no number says nothing. */
export function addSample(before: PolicyRecord, kl: number, share: number): PolicyRecord {
  if (!Number.isFinite(kl) || !Number.isFinite(share)) return before;
  const kept = before.weight * 0.5 ** (1 / memory);
  const weight = kept + 1;
  const mean = (old: number, value: number): number => (kept * old + value) / weight;
  return {
    weight,
    kl: mean(before.kl, kl),
    klSquared: mean(before.klSquared, kl * kl),
    share: mean(before.share, share),
  };
}

/** Two standard errors of the mean divergence. */
const margin = ({ weight, kl, klSquared }: PolicyRecord): number =>
  2 * Math.sqrt(Math.max(0, klSquared - kl * kl) / Math.max(1, weight));

/** Ends of an interval for the mean divergence. */
export const upperKl = (record: PolicyRecord): number => record.kl + margin(record);
export const lowerKl = (record: PolicyRecord): number => record.kl - margin(record);

export interface ChoiceLimits {
  /** Allowed mean divergence, nats. */
  bound: number;
  /** Samples needed to accept a policy. */
  least: number;
  /** Samples needed to reject a policy: fewer, because a bad policy affects answers. */
  leastAgainst: number;
  /** Without an accepted policy: the first that is not rejected, else the last. Cheapest first. */
  ladder: readonly string[];
}

/** Accepted policy of the smallest share; else the ladder's first not rejected, record null. */
export function choosePolicy(
  records: ReadonlyMap<string, PolicyRecord>,
  { bound, least, leastAgainst, ladder }: ChoiceLimits,
): { policy: string; record: PolicyRecord | null } {
  const allowed = [...records].filter(([, record]) => record.weight >= least && upperKl(record) <= bound);
  const [cheapest] = allowed.sort(([, a], [, b]) => a.share - b.share || a.kl - b.kl);
  if (cheapest !== undefined) return { policy: cheapest[0], record: cheapest[1] };
  const isRefuted = (name: string): boolean => {
    const record = records.get(name);
    return record !== undefined && record.weight >= leastAgainst && lowerKl(record) > bound;
  };
  return { policy: ladder.find((name) => !isRefuted(name)) ?? ladder.at(-1)!, record: null };
}
