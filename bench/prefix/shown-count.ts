// How often an example was shown, as a power of two, so that an order by it rarely changes. Pure.

/**
 * The step to publish for an example that was shown `count` times and has the step `published`:
 * the power of two at or below `count`, 0 below 2. A step falls only once the count is below half
 * of it, so that it does not alternate around a power of two. NaN and negative counts are 0.
 */
export function shownStep(count: number, published: number): number {
  const step = powerBelow(count);
  return step < published && count >= published / 2 ? published : step;
}

/** Counts above 2^30 are capped: the record has 32 bits. */
const mostSteps = 30;

const powerBelow = (count: number): number => (count >= 2 ? 2 ** Math.min(mostSteps, Math.floor(Math.log2(count))) : 0);
