// Synthetic questions: how a model is asked for them, and what of its answer is one. The model sees
// what is public alone: what the domain is about, and questions that it made itself.
import type { Piece } from "../../schemas/types.ts";

const turn = (text: string): Piece[] => [{ kind: "turn", id: null, role: "user", text }];
const form = "Write only the question, on one line.";

export const freshQuestion = (about: string): Piece[] =>
  turn(`Write one question that somebody could ask. What it is about: ${about}\n${form}`);

export const likeQuestion = (about: string, question: string): Piece[] =>
  turn(
    `This is a question that somebody asked. What it is about: ${about}\n\n${question}\n\nWrite another question like it, about something slightly different. ${form}`,
  );

const longest = 500;

/** The first line with words, without what models put around it; null: there is none. */
export function readQuestion(text: string): string | null {
  const line = text.split("\n", 50).find((one) => /[\p{L}\p{N}]/u.test(one.slice(0, longest)));
  const question = line
    ?.slice(0, longest)
    .trim()
    .replace(/^(?:question|q)\s?:|^(?:\d{1,3}[.)]|[-*])\s/i, "")
    .trim()
    .replace(/^["“](.*)["”]$/, "$1")
    .trim();
  return question === undefined || !/[\p{L}\p{N}]/u.test(question) ? null : question;
}
