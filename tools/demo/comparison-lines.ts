// A comparison on the terminal.
import pc from "picocolors";
import type { Interval } from "../../algorithms/off-policy/ratio.ts";
import { drawSeries } from "./chart.ts";
import { compare, confidence, type Pair, runningMeans, verdictOf } from "./comparison.ts";
import { largeArm } from "./sample-data.ts";
import type { Screen } from "./screen.ts";

/** For the line of a comparison under way. */
export function briefly(pairs: readonly Pair[]): string {
  const { costShare, scores } = compare(pairs);
  const cost = costShare === null ? "" : `cost ${percent(costShare.value)} of ${largeArm} alone, `;
  return `${cost}token F1 ${scores.system.toFixed(2)} to ${scores.large.toFixed(2)}`;
}

/** Curves over the questions, both intervals, and the verdict. */
export function showComparison(screen: Screen, pairs: readonly Pair[]): void {
  const compared = compare(pairs);
  const { costShare, scores } = compared;
  if (pairs.length === 0) return screen.line(verdictOf(compared));
  const show = (title: string, ...curves: Parameters<typeof drawSeries>[0]): void => {
    screen.line();
    screen.line(`  ${title}`);
    for (const line of drawSeries(curves, { width: screen.width - 30, height: 8 })) screen.line(line);
  };
  const curve = (name: string, colour: "green" | "cyan", values: readonly number[]) => ({ name, colour, values });
  const [costs, baseline] = [pairs.map(({ system }) => system.cost), pairs.map(({ large }) => large.cost)];
  const paid = runningMeans(baseline);
  const shares = runningMeans(costs).map((cost, index) => (paid[index]! > 0 ? cost / paid[index]! : 0));
  if (costShare !== null) show(`Cost so far, as a share of ${largeArm} alone`, curve("the system", "green", shares));
  const [theirs, ours] = [pairs.map(({ large }) => large.score), pairs.map(({ system }) => system.score)];
  show(
    "Mean token F1 so far",
    curve(`${largeArm} alone`, "cyan", runningMeans(theirs)),
    curve("the system", "green", runningMeans(ours)),
  );
  screen.line();
  if (costShare !== null)
    screen.line(
      `  ${pc.bold("cost")}      ${percent(costShare.value)} of ${largeArm} alone ${pc.dim(between(costShare.interval, percent))}`,
    );
  const difference = `${signed(scores.difference)} ${pc.dim(between(scores.interval, signed))}`;
  screen.line(
    `  ${pc.bold("token F1")}  ${scores.system.toFixed(2)}, ${largeArm} alone ${scores.large.toFixed(2)}: ${difference}`,
  );
  screen.line(`  ${pc.bold(verdictOf(compared))}`);
  screen.line();
}

const between = (interval: Interval | null, text: (value: number) => string): string =>
  interval === null
    ? "(too few for an interval)"
    : `(${confidence * 100} % interval over the questions: ${text(interval.low)} to ${text(interval.high)})`;
const percent = (share: number): string => `${Math.round(100 * share)} %`;
const signed = (value: number): string => `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(2)}`;
