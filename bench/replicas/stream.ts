// The requests of the benchmark: a system prompt, examples of a topic in order of their frequency,
// a question. Topics are asked as often as their rank says (Zipf), so that some prefixes are hot.
import type { Piece } from "../../schemas/types.ts";

const topics = 120;
const perTopic = 8;
const shown = 4;
const exampleWords = 60;

/** Prompts, the same for the same random source. */
export function promptsOf(count: number, random: () => number): Piece[][] {
  const weights = Array.from({ length: topics }, (_, rank) => 1 / (rank + 1));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const topicOf = (): number => {
    let left = random() * total;
    return Math.max(
      0,
      weights.findIndex((weight) => (left -= weight) <= 0),
    );
  };
  const system: Piece = { kind: "system", id: null, role: "system", text: wordsOf("system", exampleWords) };
  return Array.from({ length: count }, (_, index) => {
    const topic = topicOf();
    // What is shown most comes first: half of a topic's examples is shown twice as often.
    const chosen = Array.from({ length: perTopic }, (_, i) => ({ i, at: random() * (i < perTopic / 2 ? 1 : 2) }))
      .sort((a, b) => a.at - b.at)
      .slice(0, shown)
      .sort((a, b) => a.i - b.i);
    const examples = chosen.flatMap(({ i }): Piece[] => {
      const id = `t${topic}e${i}`;
      return [
        { kind: "example", id, role: "user", text: wordsOf(`${id}q`, exampleWords / 2) },
        { kind: "example", id, role: "assistant", text: wordsOf(`${id}a`, exampleWords / 2) },
      ];
    });
    return [system, ...examples, { kind: "turn", id: null, role: "user", text: wordsOf(`question${index}`, 12) }];
  });
}

const wordsOf = (name: string, count: number): string =>
  Array.from({ length: count }, (_, i) => `${name}-${i}`).join(" ");
