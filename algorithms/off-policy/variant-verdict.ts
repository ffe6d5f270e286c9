// The verdict on a variant of an experiment as a sentence; figures are of the view experiments.

export interface VariantFigures {
  variant: string;
  verdict: "better" | "worse" | "equal" | "open" | "too_few" | "control";
  ratedUnits: number;
  /** Reward less that of the control, and its always-valid interval; null: not known. */
  difference: number | null;
  low: number | null;
  high: number | null;
}

const signed = (value: number): string => `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(3)}`;

export function describeVerdict({ variant, verdict, ratedUnits, difference, low, high }: VariantFigures): string {
  const interval =
    difference === null || low === null || high === null
      ? ""
      : ` (${signed(difference)}, between ${signed(low)} and ${signed(high)})`;
  const sentences: Readonly<Record<VariantFigures["verdict"], string>> = {
    better: `${variant} is better than the control${interval}: the experiment may end.`,
    worse: `${variant} is worse than the control${interval}: the experiment may end.`,
    equal: `${variant} and the control differ by less than .02${interval}: the experiment may end.`,
    open: `${variant}: no verdict yet${interval}; go on.`,
    too_few: `${variant}: no verdict yet; it has ${ratedUnits} rated units, and it and the control need 30 each.`,
    control: `${variant} is the control.`,
  };
  return sentences[verdict];
}
