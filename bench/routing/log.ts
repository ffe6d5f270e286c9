// The full-information logs that the routing benchmark reads: one line of JSON a request, with the
// score, and perhaps the cost, of every arm's answer. What can't be used is refused with its line.
import { objectLines } from "../support/data-file.ts";

export interface LogRow {
  request: string;
  /** null: not known. */
  task: string | null;
  /** By arm, [0, 1]; null: this arm has no answer to this request. */
  scores: readonly (number | null)[];
  /** By arm, in any currency; null where scores are, or where the log has no prices. */
  costs: readonly (number | null)[];
}

export interface MixedLog {
  rows: LogRow[];
  arms: string[];
  /** Some answer has a price above 0. */
  priced: boolean;
}

/** Fewest requests: folds need rows on both sides. */
const fewestRows = 20;
const form = '"request" and "arms" ({name: {score, cost}}), "scores" ({name: score}), or "small" and "large"';
/** A log of two models has no prices: the small one is taken to cost a twentieth. */
export const twoModelCosts = { small: 0.05, large: 1 };

/** Whether the file is of two models, "small" and "large"; by its first line. */
export function isTwoModelLog(text: string): boolean {
  const first = text.split("\n").find((line) => line.trim() !== "") ?? "";
  return /"small"\s*:/.test(first) && !/"(?:arms|scores)"\s*:\s*\{/.test(first);
}

interface Answer {
  score: number;
  cost: number | null;
}

/** `file` is what errors call it. Throws an error for people, with the line. */
export function parseMixedLog(text: string, file: string): MixedLog {
  const lines = objectLines(text, file, form);
  const names = new Map<string, number>();
  const read = lines.map(({ value: { request, task, ...answers }, where }) => {
    if (typeof request !== "string" || request.trim() === "")
      throw new Error(`${where}: "request" must be a text that is not empty`);
    if (task !== undefined && task !== null && typeof task !== "string")
      throw new Error(`${where}: "task" must be a text, or left out`);
    const found = answersOf(answers, where);
    for (const name of found.keys()) if (!names.has(name)) names.set(name, names.size);
    return { request, task: task?.trim() ? task : null, found, where };
  });
  if (read.length < fewestRows)
    throw new Error(`${file} has ${read.length} requests: at least ${fewestRows} are needed to keep some for testing`);
  const arms = [...names.keys()];
  if (arms.length < 2)
    throw new Error(`${file} has the one arm ${JSON.stringify(arms[0])}: a router needs at least two to choose from`);
  const hasCosts = read.some(({ found }) => [...found.values()].some(({ cost }) => cost !== null));
  for (const { found, where } of read)
    for (const [name, { cost }] of found)
      if (hasCosts && cost === null)
        throw new Error(`${where}: the arm ${JSON.stringify(name)} has no "cost", others have: give all or none`);
  const rows = read.map(({ request, task, found }): LogRow => ({
    ...{ request, task },
    scores: arms.map((name) => found.get(name)?.score ?? null),
    costs: arms.map((name) => found.get(name)?.cost ?? null),
  }));
  return { rows, arms, priced: rows.some(({ costs }) => costs.some((cost) => (cost ?? 0) > 0)) };
}

function answersOf({ arms, scores, small, large }: Record<string, unknown>, where: string): Map<string, Answer> {
  const given = arms ?? scores ?? (small === undefined ? large : { small, large });
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new Error(`${where}: a line needs ${form}`);
  // An arm that is null has no answer here.
  const entries = Object.entries(given).filter(([, answer]) => answer !== null && answer !== undefined);
  if (entries.length === 0) throw new Error(`${where}: no arm has an answer`);
  return new Map(
    entries.map(([name, answer]): [string, Answer] => {
      const whose = `${where}: the arm ${JSON.stringify(name)}`;
      if (name.trim() === "") throw new Error(`${where}: an arm has an empty name`);
      if (arms === undefined && scores !== undefined) return [name, { score: scoreOf(answer, whose), cost: null }];
      if (typeof answer !== "object" || answer === null)
        throw new Error(`${whose} must be an object with "score", and perhaps "cost"`);
      const { score, correct, cost } = answer as Record<string, unknown>;
      if (arms === undefined)
        return [name, { score: scoreOf(correct, whose), cost: twoModelCosts[name as "small" | "large"] }];
      return [name, { score: scoreOf(score, whose), cost: costOf(cost, whose) }];
    }),
  );
}

function scoreOf(value: unknown, whose: string): number {
  const score = typeof value === "boolean" ? Number(value) : value;
  if (typeof score !== "number" || !(score >= 0 && score <= 1))
    throw new Error(`${whose}: its score must be true, false, or a number from 0 to 1, not ${JSON.stringify(value)}`);
  return score;
}

function costOf(value: unknown, whose: string): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "number" || !(value >= 0 && Number.isFinite(value)))
    throw new Error(`${whose}: "cost" must be a number of at least 0, not ${JSON.stringify(value)}`);
  return value;
}
