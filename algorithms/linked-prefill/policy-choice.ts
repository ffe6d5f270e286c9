// The policy "auto" of linked prefill (docs/design/linked-prefill.md, Policies): the cheapest whose
// measured loss, with the uncertainty of its mean added, stays under a bound.

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

export function addSample(before: PolicyRecord, kl: number, share: number): PolicyRecord {
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

/** Upper end of an interval for the mean divergence, two standard errors wide. */
export function upperKl({ weight, kl, klSquared }: PolicyRecord): number {
  return kl + 2 * Math.sqrt(Math.max(0, klSquared - kl * kl) / Math.max(1, weight));
}

/** Policy with the smallest share among those under `bound` with `least` samples, or `fallback`. */
export function choosePolicy(
  records: ReadonlyMap<string, PolicyRecord>,
  { bound, least, fallback }: { bound: number; least: number; fallback: string },
): string {
  const allowed = [...records].filter(([, record]) => record.weight >= least && upperKl(record) <= bound);
  const [cheapest] = allowed.sort(([, a], [, b]) => a.share - b.share || a.kl - b.kl);
  return cheapest?.[0] ?? fallback;
}
