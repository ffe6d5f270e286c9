// How the policy changed, from ClickHouse: all runs of the demo in order, because each run starts
// from what the earlier ones learned.
import pc from "picocolors";
import { drawSeries } from "./chart.ts";
import type { SceneContext } from "./scene.ts";

/** Requests that a point of the curves averages over. */
const window = 10;
/** Only this many of the newest requests are read. */
const most = 2_000;
/** Answers at either end of the curve that are compared. */
const enough = 60;

interface Outcome {
  run: string;
  /** The cheapest arm, and the probability that it had. */
  cheapest: string;
  share: number;
  /** The one that answered. */
  arm: string;
  /** Normalised. */
  cost: number;
  reward: number;
  policyVersion: number;
}

const selectOutcomes = `
SELECT metadata['run'] AS run, arraySort(each -> each.cost, arms)[1] AS least, least.arm AS cheapest, least.probability AS share,
       decided_arm AS arm, arrayFirst(each -> each.arm = decided_arm, arms).cost AS cost, reward,
       toUInt32(policy_version) AS policyVersion
FROM outcomes
WHERE metadata['scene'] = 'learning' AND status = 'ok' AND reward IS NOT NULL
ORDER BY created_at DESC
LIMIT ${most}`;

export async function showLearningCurve({ screen, session }: SceneContext): Promise<void> {
  const outcomes = (await session.clickhouse.query<Outcome>(selectOutcomes)).reverse();
  if (outcomes.length < 2 * window) {
    screen.line(pc.yellow(`${outcomes.length} rewarded answers: too few for a curve`));
    return;
  }
  const runs = new Set(outcomes.map(({ run }) => run)).size;
  const width = screen.width - 12;
  const times = runs === 1 ? "in this run" : `in ${runs} runs, this one last`;
  screen.line();
  screen.line(`  Probability of the small arm ${pc.dim(`(${outcomes.length} requests ${times}; mean of ${window})`)}`);
  const share = rolling(outcomes.map((outcome) => outcome.share));
  for (const line of drawSeries(share, { width, colour: "green", height: 10 })) screen.line(line);
  screen.line();
  screen.line(`  Quality of the answers ${pc.dim(`(reward; mean of ${window})`)}`);
  const rewards = rolling(outcomes.map(({ reward }) => reward));
  for (const line of drawSeries(rewards, { width, colour: "cyan", height: 10 })) screen.line(line);
  screen.line();
  const few = Math.min(enough, Math.floor(outcomes.length / 3));
  const { costWeight } = session.config.routing;
  screen.line(summary(`first ${few}`, outcomes.slice(0, few), costWeight));
  screen.line(summary(`last ${few}`, outcomes.slice(-few), costWeight));
  if (few < enough)
    screen.line(pc.dim(`  Means of ${few} answers differ by chance; run the demo again, and it goes on from here.`));
  screen.line();
}

function summary(name: string, outcomes: readonly Outcome[], costWeight: number): string {
  const small = outcomes.filter(({ arm, cheapest }) => arm === cheapest);
  const quality = mean(outcomes.map(({ reward }) => reward));
  const cost = mean(outcomes.map((outcome) => outcome.cost));
  const versions = outcomes.map(({ policyVersion }) => policyVersion);
  const parts = [
    `small arm ${Math.round((100 * small.length) / outcomes.length)} %`,
    `its quality ${small.length === 0 ? "-" : mean(small.map(({ reward }) => reward)).toFixed(2)}`,
    `of all: quality ${quality.toFixed(2)} - ${costWeight} × cost ${cost.toFixed(2)} = ${(quality - costWeight * cost).toFixed(2)}`,
    pc.dim(`policy ${Math.min(...versions)} to ${Math.max(...versions)}`),
  ];
  return `  ${pc.bold(name.padEnd(9))} ${parts.join(" · ")}`;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Means over a window that moves by one. */
const rolling = (values: readonly number[]): number[] =>
  values.slice(window - 1).map((_, start) => mean(values.slice(start, start + window)));
