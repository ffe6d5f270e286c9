// Does it pay? The system answers questions and learns from a reward of each answer. Where another
// arm answered, the large arm is asked the same question, to know the cost and score of using it
// alone. These extra calls are no part of the system's cost, and get no reward.
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import pc from "picocolors";
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import { bestTokenF1 } from "../../../algorithms/text/token-f1.ts";
import { messageOf } from "../../../connections/errors.ts";
import type { Response } from "../../../schemas/types.ts";
import { NoResponse, type Answered } from "../client.ts";
import { fewest, shuffled, type Pair, type Scored } from "../comparison.ts";
import { briefly, showComparison } from "../comparison-lines.ts";
import { largeArm, type Question } from "../sample-data.ts";
import type { Scene, SceneContext } from "../scene.ts";
import { seconds, wrap } from "../screen.ts";

/** After this time no question is asked; a slow machine has twice the time for the first 20. */
const usualMs = 120_000;
const longestWaitMs = 120_000;
const inFlight = 4;

export const comparison: Scene = async (context) => {
  const { screen, data } = context;
  screen.heading(
    "Cheaper, and as good?",
    `${data.questions.length} questions in random order. The router chooses, and learns from a reward of each answer: its token F1 against our reference. Where another arm answers, ${largeArm} is also asked, for the comparison alone: this answer teaches the router nothing, and its price is not the system's.`,
  );
  const absent = await whyAbsent(context);
  if (absent !== null) {
    const why = `${largeArm} can't answer: ${absent}. The other arms go on alone, and there is nothing to compare them with.`;
    for (const line of wrap(why, screen.width)) screen.line(pc.yellow(line));
  }
  const pairs = await askAll(context, absent === null);
  if (absent === null) showComparison(screen, pairs);
};

/** Why the large arm has no part in this run; null: it answers. */
async function whyAbsent({ screen, complete, signal }: SceneContext): Promise<string | null> {
  const late = sleep(longestWaitMs, undefined, { signal, ref: false }).then(() => {
    throw new Error(`its model was not ready within ${seconds(longestWaitMs)}`);
  });
  try {
    await screen.task(largeArm, Promise.race([complete, late]), () => "answers");
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return messageOf(error);
  }
}

/** In the order in which they were answered; none where there is nothing to compare with. */
async function askAll(context: SceneContext, compared: boolean): Promise<Pair[]> {
  const { screen, client, data, signal, commandedAt } = context;
  // Another order and other wordings in each run.
  const random = splitmix64(BigInt(commandedAt));
  const questions = shuffled(data.questions, random).map((each) => ({
    ...each,
    request: random() < 0.5 ? each.request : each.again,
  }));
  const limit = pLimit(inFlight);
  const began = Date.now();
  const pairs: Pair[] = [];
  const counts = { asked: 0, answered: 0, late: 0, failed: 0, extra: 0, without: 0 };
  const paid = { system: 0, extra: 0 };

  async function ask({ request, references }: Question): Promise<void> {
    counts.asked++;
    const answer = await inTime(client.ask(request, { scene: "comparison" }));
    if (answer === null) {
      counts.late++;
      return;
    }
    const { response, decision } = answer;
    const system = scored(response, references);
    counts.answered++;
    paid.system += system.cost;
    if (response.status === "ok") await client.reward(response.requestId, system.score, "token F1 to the reference");
    else counts.failed++;
    if (compared) {
      const alone = response.arm === largeArm ? { ...response, failedCost: 0 } : await askLarge(request);
      // A baseline that fails would flatter the system.
      if (alone?.status === "ok") pairs.push({ system, large: scored(alone, references) });
      else counts.without++;
    }
    const policy = decision === null || decision.policyVersion === 0 ? "" : `, policy ${decision.policyVersion}`;
    screen.live(
      `  ${counts.answered} of ${questions.length} answered${policy}${pairs.length > 0 ? `: ${briefly(pairs)}` : ""}`,
    );
  }

  async function askLarge(request: string): Promise<Response | null> {
    const answer = await inTime(client.ask(request, { scene: "baseline", arm: largeArm }));
    if (answer === null) return null;
    const { response } = answer;
    counts.extra++;
    paid.extra += response.cost + response.failedCost;
    return response;
  }

  await Promise.all(
    questions.map((question) =>
      limit(async () => {
        const passed = Date.now() - began;
        if (!signal.aborted && passed < (counts.asked < fewest ? 2 : 1) * usualMs) await ask(question);
      }),
    ),
  );
  signal.throwIfAborted();
  const { answered, late, failed, extra, without } = counts;
  const left = questions.length - answered - late;
  const notes = [
    `${answered} answers, each with its reward on the topic feedback`,
    ...(failed > 0 ? [`${failed} failed, and count as 0`] : []),
    ...(late > 0 ? [`${late} left out: this machine is too busy to answer them within two minutes`] : []),
    ...(left > 0 ? [`the time was up before the other ${left}`] : []),
    ...(extra > 0
      ? [
          `${extra} more answers of ${largeArm} for the comparison alone, at ${price(paid.extra)}; the system's own cost ${price(paid.system)}`,
        ]
      : []),
    ...(without > 0 ? [`${without} left out of the comparison: ${largeArm} gave no answer`] : []),
  ];
  for (const line of wrap(`${notes.join("; ")}.`, screen.width)) screen.line(line);
  return pairs;
}

/** Null: no answer came in time. */
async function inTime(answer: Promise<Answered>): Promise<Answered | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NoResponse) return null;
    throw error;
  }
}

/** A failed answer is worth nothing, and costs what it cost. */
const scored = ({ status, text, cost, failedCost }: Response, references: readonly string[]): Scored => ({
  cost: cost + failedCost,
  score: status === "ok" ? bestTokenF1(text, references) : 0,
});

const price = (cost: number): string => cost.toPrecision(2);
