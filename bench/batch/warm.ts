// Ratings that the router learns from before bench -- batch measures: other questions, each asked
// of every arm and rated with its simulated quality.
import { qualityOf, questionsOf } from "./questions.ts";
import type { System } from "./system.ts";

const arms = ["small", "large", "large-batch"];

/** Number of ratings given. */
export async function warm({ ask, rate, learnt }: System): Promise<number> {
  const questions = questionsOf(100, "planet");
  const asked = arms.flatMap((arm) => questions.map((question) => ({ arm, question })));
  const answered = await ask.batch(
    asked.map(({ arm, question: { text } }) => ({ model: arm, messages: [{ role: "user", content: text }] })),
  );
  for (const { index, id } of answered) {
    const { arm, question } = asked[index]!;
    await rate(id, qualityOf(arm, question));
  }
  // The last few may come into a later policy.
  await learnt(Math.floor(answered.length * 0.9));
  return answered.length;
}
