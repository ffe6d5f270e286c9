// The requests of bench -- batch. What an answer is worth is simulated: the small model fails at
// hard questions, three of ten. Every tenth request repeats one from the middle of those before it.

export interface Question {
  text: string;
  isHard: boolean;
}

/** Texts in the order asked; other names have other questions. */
export function questionsOf(count: number, name = "country"): Question[] {
  const questions: Question[] = [];
  for (let i = 0; i < count; i++) {
    const isHard = (i % 10) % 3 === 0;
    const text = isHard
      ? `Prove by induction that f(x) = x^${i} + 1 is even for each odd ${name} number x; give a formula for each step.`
      : `What is the capital of ${name} ${i}?`;
    questions.push(i % 10 === 9 ? questions[(i - 1) / 2]! : { text, isHard });
  }
  return questions;
}

/** Simulated quality of an arm's answer, [0, 1]. */
export const qualityOf = (arm: string, { isHard }: Question): number =>
  isHard ? (arm === "small" ? 0.2 : 0.9) : arm === "small" ? 0.9 : 0.95;
