// What bench -- batch says of one run, from the answers that the client read, the rows of the table
// responses and the calls that the provider counted.
import { mean } from "../support/statistics.ts";
import { qualityOf, type Question } from "./questions.ts";

export interface Row {
  id: string;
  status: string;
  arm: string | null;
  source: string;
  cost: number;
}

/** An answer that a client read: which question, and the id of its request. */
export interface Answered {
  index: number;
  id: string;
}

export interface Outcome {
  /** Sum over the requests, in the currency of the prices. */
  cost: number;
  /** Simulated; mean over the answered requests, [0, 1]. */
  quality: number | null;
  /** Share of the requests that each arm answered by a call. */
  shares: Record<string, number>;
  cache_hits: number;
  /** Until the last answer was read. */
  seconds: number;
  /** Requests without an answer, at the client or in the table. */
  lost: number;
  /** Second answers at the client or in the table, and calls of the provider without an answer. */
  doubled: number;
}

interface Found {
  questions: readonly Question[];
  rows: readonly Row[];
  answered: readonly Answered[];
  calls: number;
  seconds: number;
}

export function figuresOf({ questions, rows, answered, calls, seconds }: Found): Outcome {
  const answers = rows.filter(({ status }) => status === "ok");
  const byId = new Map(answers.map((row) => [row.id, row]));
  const generated = [...byId.values()].filter(({ source }) => source === "generated");
  const count = new Map<string, number>();
  for (const { arm } of generated) count.set(arm ?? "none", (count.get(arm ?? "none") ?? 0) + 1);
  const read = new Map(answered.map(({ index, id }) => [index, id]));
  const worth = [...read].flatMap(([index, id]) => {
    const arm = byId.get(id)?.arm;
    return arm === undefined || arm === null ? [] : [qualityOf(arm, questions[index]!)];
  });
  const inTable = [...read.values()].filter((id) => byId.has(id)).length;
  return {
    cost: rounded(
      rows.reduce((sum, { cost }) => sum + cost, 0),
      4,
    ),
    quality: worth.length === 0 ? null : rounded(mean(worth), 3),
    shares: Object.fromEntries(
      [...count]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([arm, answered]) => [arm, rounded(answered / questions.length, 3)]),
    ),
    cache_hits: answers.filter(({ source }) => source === "cache").length,
    seconds: rounded(seconds, 1),
    lost: questions.length - inTable,
    doubled:
      answered.length -
      read.size +
      (answers.length - byId.size) +
      Math.max(0, calls - generated.length - doubles(answers)),
  };
}

/** Second generated answers in the table: their calls gave an answer, and they are counted. */
const doubles = (answers: readonly Row[]): number => {
  const generated = answers.filter(({ source }) => source === "generated");
  return generated.length - new Set(generated.map(({ id }) => id)).size;
};

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
