// The loop closes: requests, feedback on every answer, a policy that moves. The demo has no human
// feedback and models of half a billion parameters are no judges, so the reward of an answer is its
// token F1 against the reference, and the screen says so.
import pLimit from "p-limit";
import pc from "picocolors";
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import { bestTokenF1 } from "../../../algorithms/text/token-f1.ts";
import { showLearningCurve } from "../learning-curve.ts";
import type { Scene, SceneContext } from "../scene.ts";
import { untilCount } from "../sql.ts";

/**
 * How often each question comes, and the time after which no new request is sent: a slow machine
 * asks fewer.
 */
const passes = 4;
const longestMs = 60_000;
const inFlight = 6;

export const learning: Scene = async (context) => {
  const { screen, stages, data, client } = context;
  screen.heading(
    "Feedback moves the policy",
    `${data.questions.length} questions in random order, then the same in other words, and both once more. The demo has no judge, and models this small can't be one: the reward of an answer is its token F1 against our reference.`,
  );
  await screen.task("all arms", context.complete, () =>
    context.session.arms
      .configured()
      .map(({ name }) => name)
      .join(" · "),
  );
  const rewarded = await askAll(context);
  if (!stages.has("learn")) {
    screen.line(pc.yellow("learn does not run here: feedback is recorded, and the policy stays what it is."));
    return;
  }
  const counted = `SELECT count() AS count FROM outcomes WHERE metadata['run'] = '${client.run}' AND reward IS NOT NULL`;
  if (!(await untilCount(context, rewarded, counted)))
    screen.line(pc.yellow("not all of these rewards are in ClickHouse yet"));
  await showLearningCurve(context);
};

/** Returns how many answers got a reward. */
async function askAll({ screen, client, data, signal }: SceneContext): Promise<number> {
  const random = splitmix64(0x5eedn);
  const questions = Array.from({ length: passes }, (_, pass) =>
    shuffled(data.questions, random).map((each) => (pass % 2 === 0 ? each : { ...each, request: each.again })),
  ).flat();
  const limit = pLimit(inFlight);
  const end = Date.now() + longestMs;
  let [rewarded, failed] = [0, 0];
  await Promise.all(
    questions.map(({ request, references }) =>
      limit(async () => {
        if (signal.aborted || Date.now() > end) return;
        const { response, decision } = await client.ask(request, { scene: "learning" });
        if (response.status === "ok") {
          rewarded++;
          await client.reward(
            response.requestId,
            bestTokenF1(response.text, references),
            "token F1 against the reference",
          );
        } else failed++;
        const policy = decision === null || decision.policyVersion === 0 ? "" : `, policy ${decision.policyVersion}`;
        screen.live(`  ${rewarded + failed} of ${questions.length} answered${policy}`);
      }),
    ),
  );
  signal.throwIfAborted();
  const left = questions.length - rewarded - failed;
  const notes = [
    `${rewarded} answers, each with its reward on the topic feedback`,
    ...(failed > 0 ? [pc.yellow(`${failed} failed`)] : []),
    ...(left > 0 ? [`the time was up before the other ${left}`] : []),
  ];
  screen.line(`${notes.join("; ")}.`);
  return rewarded;
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
