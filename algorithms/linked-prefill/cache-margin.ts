// What the last bytes of a cache are for, and what more bytes would be: tokens read lately from
// what a step less would have evicted, and tokens computed again that a step more would have kept.
// Places are those of the eviction order before the read, so what is measured is out of sample.
// What was evicted is remembered, in the same order, up to a number of names. Pure.

export interface MarginOptions {
  /** Bytes of a step. */
  step: number;
  /** Maximum time window of the counts, milliseconds. */
  windowMs: number;
  /** Milliseconds since the epoch. */
  now: number;
  /** Evicted names that are remembered; the longest gone leaves first. */
  most?: number;
}

export interface MarginCounts {
  /** Tokens that a cache one step larger would have kept. */
  gainTokens: number;
  /** Tokens that a cache one step smaller would have evicted. */
  lossTokens: number;
  /** Milliseconds that the counts are of. */
  measuredMs: number;
}

export interface CacheMargin {
  readonly step: number;
  /** What a step less would have evicted was read. */
  lost(tokens: number, now: number): void;
  /** Values that do not change among themselves, such as those of one decay at one time. */
  evicted(name: string, gone: { bytes: number; value: number }): void;
  /** It was computed again. */
  returned(name: string, tokens: number, now: number): void;
  counts(now: number): MarginCounts;
  /** The budget changed: what was counted is of another. */
  restart(now: number): void;
}

const slices = 16;

export function createCacheMargin({ step, windowMs, now, most = 10_000 }: MarginOptions): CacheMargin {
  const sliceMs = Math.max(1, windowMs / slices);
  const gone = new Map<string, { bytes: number; value: number }>();
  let began = now;
  let counted: { slice: number; gain: number; loss: number }[] = [];

  function sliceOf(at: number) {
    const slice = Math.floor(at / sliceMs);
    const last = counted.at(-1);
    // A clock that went back counts where it was.
    if (last !== undefined && last.slice >= slice) return last;
    const fresh = { slice, gain: 0, loss: 0 };
    counted = [...counted.filter((one) => one.slice > slice - slices), fresh];
    return fresh;
  }

  return {
    step,
    lost(tokens, at) {
      sliceOf(at).loss += tokens;
    },
    evicted(name, what) {
      gone.delete(name);
      gone.set(name, what);
      const [oldest] = gone.keys();
      if (gone.size > most && oldest !== undefined) gone.delete(oldest);
    },
    returned(name, tokens, at) {
      const one = gone.get(name);
      if (one === undefined) return;
      let upto = 0;
      for (const { bytes, value } of gone.values()) if (value >= one.value) upto += bytes;
      gone.delete(name);
      if (upto <= step) sliceOf(at).gain += tokens;
    },
    counts(at) {
      const first = Math.floor(at / sliceMs) - slices + 1;
      const recent = counted.filter(({ slice }) => slice >= first);
      return {
        gainTokens: recent.reduce((sum, { gain }) => sum + gain, 0),
        lossTokens: recent.reduce((sum, { loss }) => sum + loss, 0),
        measuredMs: Math.round(Math.max(0, at - Math.max(began, first * sliceMs))),
      };
    },
    restart(at) {
      began = at;
      counted = [];
      gone.clear();
    },
  };
}
