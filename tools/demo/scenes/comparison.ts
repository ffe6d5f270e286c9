// Does it pay? The system answers questions and learns from a reward of each answer. Beside every
// answer of the small arm, the large arm is asked the same: what it would have cost and been worth
// to ask it alone. Its extra calls are no part of the system's bill, and bring no reward.
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import pc from "picocolors";
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import type { Interval } from "../../../algorithms/off-policy/ratio.ts";
import { bestTokenF1 } from "../../../algorithms/text/token-f1.ts";
import { messageOf } from "../../../connections/errors.ts";
import type { Response } from "../../../schemas/types.ts";
import { drawSeries } from "../chart.ts";
import { compare, confidence, type Pair, runningMeans, type Scored, verdictOf } from "../comparison.ts";
import { largeArm, type Question } from "../sample-data.ts";
import type { Scene, SceneContext } from "../scene.ts";
import { seconds, wrap } from "../screen.ts";

/** After this time no question is asked: a slow machine compares fewer. */
const longestMs = 100_000;
const longestWaitMs = 120_000;
const inFlight = 4;

export const comparison: Scene = async (context) => {
  const { screen, data } = context;
  screen.heading(
    "Cheaper, and as good?",
    `${data.questions.length} questions in random order. The router chooses, and learns from a reward of each answer: its token F1 against our reference. Where another arm answers, ${largeArm} is asked the same for the comparison; neither its answer nor its price counts for the system.`,
  );
  const absent = await whyAbsent(context);
  if (absent !== null) {
    screen.line(pc.yellow(`  ${largeArm} can't answer: ${absent}.`));
    screen.line(pc.yellow("  The other arms go on alone, and there is nothing to compare them with."));
  }
  const { pairs, notes } = await askAll(context, absent === null);
  for (const line of wrap(`${notes.join("; ")}.`, screen.width)) screen.line(line);
  if (absent === null) showComparison(context, pairs);
};

/** Why the large arm has no part in this run; null: it answers. */
async function whyAbsent({ screen, complete, signal }: SceneContext): Promise<string | null> {
  const late = sleep(longestWaitMs, `its model has not come in ${seconds(longestWaitMs)}`, { signal, ref: false });
  const arrival = Promise.race([complete.then(() => null, messageOf), late]);
  return screen.task(largeArm, arrival, (absent) => (absent === null ? "answers" : "is absent"));
}

async function askAll(context: SceneContext, compared: boolean): Promise<{ pairs: Pair[]; notes: string[] }> {
  const { screen, client, data, signal, commandedAt } = context;
  // Another order and other wordings in each run.
  const random = splitmix64(BigInt(commandedAt));
  const questions = shuffled(data.questions, random).map((each) => ({
    ...each,
    request: random() < 0.5 ? each.request : each.again,
  }));
  const limit = pLimit(inFlight);
  const end = Date.now() + longestMs;
  const pairs: Pair[] = [];
  const extra = { calls: 0, cost: 0 };
  let [answered, failed] = [0, 0];

  async function ask({ request, references }: Question): Promise<void> {
    const { response, decision } = await client.ask(request, { scene: "comparison" });
    const system = scored(response, references);
    answered++;
    if (response.status === "ok") await client.reward(response.requestId, system.score, "token F1 to the reference");
    else failed++;
    let large = { cost: response.cost, score: system.score };
    if (compared && response.arm !== largeArm) {
      const alone = (await client.ask(request, { scene: "baseline", arm: largeArm })).response;
      large = scored(alone, references);
      extra.calls++;
      extra.cost += large.cost;
    }
    pairs.push({ system, large });
    const policy = decision === null || decision.policyVersion === 0 ? "" : `, policy ${decision.policyVersion}`;
    screen.live(`  ${answered} of ${questions.length} answered${policy}${compared ? `: ${briefly(pairs)}` : ""}`);
  }

  await Promise.all(
    questions.map((question) =>
      limit(async () => {
        if (!signal.aborted && Date.now() < end) await ask(question);
      }),
    ),
  );
  signal.throwIfAborted();
  const left = questions.length - answered;
  const notes = [
    `${answered} answers, each with its reward on the topic feedback`,
    ...(failed > 0 ? [pc.yellow(`${failed} failed, and count as 0`)] : []),
    ...(left > 0 ? [`the time was up before the other ${left}`] : []),
    ...(compared ? [`${extra.calls} more of ${largeArm} for the comparison alone, at ${price(extra.cost)}`] : []),
  ];
  return { pairs, notes };
}

/** A failed answer is worth nothing, and costs what it cost. */
const scored = ({ status, text, cost, failedCost }: Response, references: readonly string[]): Scored => ({
  cost: cost + failedCost,
  score: status === "ok" ? bestTokenF1(text, references) : 0,
});

function briefly(pairs: readonly Pair[]): string {
  const { costShare, scores } = compare(pairs);
  const cost = costShare === null ? "" : `cost ${percent(costShare.value)} of ${largeArm} alone, `;
  return `${cost}token F1 ${scores.system.toFixed(2)} to ${scores.large.toFixed(2)}`;
}

function showComparison({ screen }: SceneContext, pairs: readonly Pair[]): void {
  const compared = compare(pairs);
  const { costShare, scores } = compared;
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
const price = (cost: number): string => cost.toPrecision(2);

/** Fisher-Yates. */
function shuffled<T>(all: readonly T[], random: () => number): T[] {
  const result = [...all];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other]!, result[last]!];
  }
  return result;
}
