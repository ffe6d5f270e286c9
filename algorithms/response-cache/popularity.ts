// Popularity with several half-lives, counted in requests. Weights never decay: later arrivals
// weigh more, and all are scaled down when large, of which the owner is notified.
const LARGE = 1e200;

export type DecayingScale = ReturnType<typeof createDecayingScale>;

/** halfLives: in requests; Infinity: plain counts. */
export function createDecayingScale(halfLives: readonly number[]) {
  const growth = halfLives.map((halfLife) => 2 ** (1 / halfLife));
  const weights = new Float64Array(halfLives.length).fill(1);
  return {
    /** What an arrival weighs now, by half-life. */
    weights,
    /**
     * Goes to the next request. Factors by which all weights so far are to be multiplied, if any.
     */
    next(): Float64Array | null {
      let large = false;
      for (let i = 0; i < weights.length; i++) {
        weights[i]! *= growth[i]!;
        if (weights[i]! > LARGE) large = true;
      }
      if (!large) return null;
      const factors = weights.map((weight) => (weight > LARGE ? 1 / weight : 1));
      for (let i = 0; i < weights.length; i++) weights[i]! *= factors[i]!;
      return factors;
    },
  };
}
