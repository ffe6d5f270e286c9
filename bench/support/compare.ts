// Ratios of a run beside recorded ones: what got worse by more than noise explains. Pure.

/** Which of two values is the better one. */
export type Better = "more" | "less";

export interface Comparison {
  figure: string;
  recorded: number;
  now: number;
  /** Share by which it got better (negative: worse), of the recorded value. */
  gain: number;
  verdict: "worse" | "same" | "better";
}

/**
 * limit: share of the recorded value that is taken for noise. Throws Error for a figure that one of
 * both lacks.
 */
export function compare(
  wanted: Readonly<Record<string, Better>>,
  recorded: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
  limit: number,
): Comparison[] {
  const numberIn = (where: string, values: Readonly<Record<string, unknown>>, figure: string): number => {
    const value = values[figure];
    if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
    throw new Error(`${where} has no ${figure} (${String(value)})`);
  };
  return Object.entries(wanted).map(([figure, better]) => {
    const before = numberIn("the recorded run", recorded, figure);
    const after = numberIn("this run", now, figure);
    const gain = (better === "more" ? after - before : before - after) / before;
    const verdict = gain < -limit ? "worse" : gain > limit ? "better" : "same";
    return { figure, recorded: before, now: after, gain, verdict };
  });
}
