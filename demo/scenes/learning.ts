// The loop closes: requests, feedback on every answer, a policy that moves. Nobody sits here to give feedback and a model of
// 135 million parameters is no judge, so the reward of an answer is its token F1 against the reference, and that is said.
import pLimit from "p-limit";
import pc from "picocolors";
import { splitmix64 } from "../../algorithms/random.ts";
import { bestTokenF1 } from "../../algorithms/token-f1.ts";
import { drawSeries } from "../chart.ts";
import type { Answered } from "../client.ts";
import type { Question } from "../sample-data.ts";
import type { Scene, SceneContext } from "../scene.ts";

/** Requests, and the time after which no new one is sent: a slow machine shows fewer. */
const passes = 2;
const longestMs = 100_000;
const inFlight = 6;
/** Requests that a point of the curves averages over. */
const window = 20;

interface Outcome {
  cheap: boolean;
  /** Probability of the cheap arm when the request was routed. */
  share: number;
  /** Token F1 of the answer. */
  quality: number;
  cost: number;
  policyVersion: number;
}

export const learning: Scene = async (context) => {
  const { screen, stages, data } = context;
  screen.heading(
    "Feedback moves the policy",
    `Each of ${data.questions.length} questions is asked ${passes} times, in random order. Nobody sits here to judge and a model of 135 M parameters can't: the reward of an answer is its token F1 against our reference.`,
  );
  const learns = stages.has("learn");
  if (!learns)
    screen.line(pc.yellow("learn does not run here: feedback is recorded, and the policy stays what it is.\n"));
  const outcomes = await askAll(context);
  if (outcomes.length < 2 * window) {
    screen.line(pc.yellow(`only ${outcomes.length} answers came in ${longestMs / 1000} s: too few for a curve`));
    return;
  }
  show(context, outcomes);
};

async function askAll({ screen, client, data, signal }: SceneContext): Promise<Outcome[]> {
  const random = splitmix64(0x5eedn);
  const questions = Array.from({ length: passes }, () => shuffled(data.questions, random)).flat();
  const limit = pLimit(inFlight);
  const end = Date.now() + longestMs;
  const outcomes: (Outcome | undefined)[] = [];
  let done = 0;
  let failed = 0;
  await Promise.all(
    questions.map((question, index) =>
      limit(async () => {
        if (signal.aborted || Date.now() > end) return;
        const answered = await client.ask(question.request);
        const outcome = outcomeOf(answered, question);
        done++;
        if (outcome === null) failed++;
        else {
          outcomes[index] = outcome;
          await client.reward(answered.response.requestId, outcome.quality, "token F1 against the reference");
        }
        const version = outcome?.policyVersion ?? 0;
        screen.live(`  ${done} of ${questions.length} answered${version > 0 ? `, policy ${version}` : ""}`);
      }),
    ),
  );
  signal.throwIfAborted();
  const given = outcomes.filter((outcome) => outcome !== undefined);
  const notes = [
    `${given.length} answers, each with its reward on the topic feedback`,
    ...(failed > 0 ? [pc.yellow(`${failed} failed`)] : []),
    ...(done < questions.length ? [`time was up before the other ${questions.length - done}`] : []),
  ];
  screen.line(`${notes.join("; ")}.`);
  return given;
}

function outcomeOf({ response, decision }: Answered, { references }: Question): Outcome | null {
  if (response.status !== "ok" || decision === null) return null;
  const cheapest = decision.arms.reduce((least, score) => (score.cost < least.cost ? score : least));
  const chosen = decision.arms.find(({ arm }) => arm === decision.arm) ?? cheapest;
  return {
    cheap: decision.arm === cheapest.arm,
    share: cheapest.probability,
    quality: bestTokenF1(response.text, references),
    cost: chosen.cost,
    policyVersion: decision.policyVersion,
  };
}

function show({ screen, session }: SceneContext, outcomes: readonly Outcome[]): void {
  const width = screen.width - 12;
  const share = rolling(outcomes, ({ share }) => share);
  const cheap = outcomes.filter(({ cheap }) => cheap);
  screen.line();
  screen.line(`  Share of the cheap arm ${pc.dim(`(its probability, mean of ${window} requests)`)}`);
  for (const line of drawSeries(share, { width, colour: "green", height: 10 })) screen.line(line);
  screen.line();
  if (cheap.length >= window) {
    screen.line(`  Quality of its answers ${pc.dim(`(token F1, mean of ${window} of its answers)`)}`);
    const quality = rolling(cheap, ({ quality }) => quality);
    for (const line of drawSeries(quality, { width, colour: "cyan", height: 10 })) screen.line(line);
    screen.line();
  }
  const third = Math.floor(outcomes.length / 3);
  const { costWeight } = session.config.routing;
  screen.line(summary("first third", outcomes.slice(0, third), costWeight));
  screen.line(summary("last third", outcomes.slice(-third), costWeight));
  screen.line();
}

function summary(name: string, outcomes: readonly Outcome[], costWeight: number): string {
  const cheap = outcomes.filter((outcome) => outcome.cheap);
  const quality = mean(outcomes.map((outcome) => outcome.quality));
  const cost = mean(outcomes.map((outcome) => outcome.cost));
  const versions = outcomes.map(({ policyVersion }) => policyVersion);
  const parts = [
    `cheap arm ${Math.round((100 * cheap.length) / outcomes.length)} %`,
    `its quality ${cheap.length === 0 ? "-" : mean(cheap.map((outcome) => outcome.quality)).toFixed(2)}`,
    `all answers: quality ${quality.toFixed(2)}, cost ${cost.toFixed(2)}, worth ${(quality - costWeight * cost).toFixed(2)}`,
    `policy ${Math.min(...versions)} to ${Math.max(...versions)}`,
  ];
  return `  ${pc.bold(name.padEnd(12))}${parts.join(" · ")}`;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Means over a window that moves by one. */
function rolling<T>(all: readonly T[], value: (each: T) => number): number[] {
  const values = all.map(value);
  return values.slice(window - 1).map((_, end) => mean(values.slice(end, end + window)));
}

/** Fisher-Yates. */
function shuffled<T>(all: readonly T[], random: () => number): T[] {
  const result = [...all];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other]!, result[last]!];
  }
  return result;
}
