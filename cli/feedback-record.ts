// What a person says of an answer on the command line, as a Feedback record. Pure; everything that
// makes no sense is a UsageError that says what would.
import { plainFeedback } from "../schemas/plain-feedback.ts";
import type { Feedback, Range } from "../schemas/types.ts";
import { UsageError } from "./io.ts";

export interface FeedbackInput {
  requestId: string;
  /** up, down, neutral; better, worse, same; a number; absent: a correction or a withdrawal. */
  verdict?: string | undefined;
  tenant: string;
  source: string;
  author?: string | undefined;
  /** LOW..HIGH: the number is a score. */
  range?: string | undefined;
  /** The number is a reward in [0, 1]. */
  reward?: boolean | undefined;
  against?: string | undefined;
  text?: string | undefined;
  withdraws?: string | undefined;
  comment?: string | undefined;
}

const thumbs: Readonly<Record<string, number>> = { up: 1, neutral: 0, down: -1 };
const preferences: Readonly<Record<string, number>> = { better: 1, same: 0, worse: -1 };
const sources = ["person", "judge", "system"] as const;

/** now: milliseconds since the epoch. Throws UsageError. */
export function feedbackRecord(input: FeedbackInput, id: string, now: number): Feedback {
  const source = sources.find((known) => known === input.source);
  if (source === undefined) throw new UsageError(`--source ${input.source}: one of ${sources.join(", ")}`);
  if (input.requestId.trim() === "") throw new UsageError("the request id is empty");
  if (id.trim() === "") throw new UsageError("--id is empty");
  return plainFeedback({
    id,
    requestId: input.requestId,
    tenant: input.tenant,
    ...opinion(input),
    source,
    author: input.author ?? "",
    text: input.text ?? null,
    withdraws: input.withdraws ?? null,
    comment: input.comment ?? null,
    createdAt: now,
  });
}

type Opinion = Pick<Feedback, "kind" | "value" | "range" | "against">;

function opinion(input: FeedbackInput): Opinion {
  const { verdict, text, against, range, reward } = input;
  const only = (options: string[], what: string): void => {
    const given = Object.entries({ "--range": range, "--reward": reward, "--against": against, "--text": text });
    const excess = given.flatMap(([name, value]) => (value === undefined || options.includes(name) ? [] : [name]));
    if (excess.length > 0) throw new UsageError(`${what} goes without ${excess.join(" and ")}`);
  };
  if (verdict === undefined) {
    if (text !== undefined) {
      only(["--text"], "a correction");
      if (text.trim() === "") throw new UsageError("--text is empty: give the answer that would have been right");
      return { kind: "correction", value: null, range: null, against: null };
    }
    if (input.withdraws === undefined)
      throw new UsageError(
        "say what you think: up, down, neutral, better, worse, same or a number; or --text, or --withdraws",
      );
    only([], "a withdrawal");
    return { kind: "thumbs", value: null, range: null, against: null };
  }
  const thumb = thumbs[verdict];
  if (thumb !== undefined) {
    only([], verdict);
    return { kind: "thumbs", value: thumb, range: null, against: null };
  }
  const preference = preferences[verdict];
  if (preference !== undefined) {
    only(["--against"], verdict);
    if (against === undefined)
      throw new UsageError(`${verdict} than what? Name the arm of the other answer with --against`);
    return { kind: "preference", value: preference, range: null, against };
  }
  return numeric(verdict, input, only);
}

function numeric(
  verdict: string,
  { range, reward, against }: FeedbackInput,
  only: (options: string[], what: string) => void,
): Opinion {
  const value = verdict.trim() === "" ? Number.NaN : Number(verdict);
  if (!Number.isFinite(value))
    throw new UsageError(`"${verdict}" is none of up, down, neutral, better, worse, same, and no number`);
  if (against !== undefined) {
    only(["--against"], "a comparison");
    if (value < -3 || value > 3)
      throw new UsageError(`a comparison lies between -3 (much worse) and 3 (much better), not at ${verdict}`);
    return { kind: "comparison", value, range: null, against };
  }
  if (range !== undefined) {
    only(["--range"], "a score");
    const stated = parseRange(range);
    if (value < Math.min(stated.low, stated.high) || value > Math.max(stated.low, stated.high))
      throw new UsageError(`the score ${verdict} lies outside of --range ${range}`);
    return { kind: "score", value, range: stated, against: null };
  }
  if (reward !== true)
    throw new UsageError(
      `what does ${verdict} mean? --range LOW..HIGH makes it a score, --reward a reward in [0, 1], --against ARM a comparison`,
    );
  only(["--reward"], "a reward");
  if (value < 0 || value > 1) throw new UsageError(`a reward lies between 0 and 1, not at ${verdict}`);
  return { kind: "reward", value, range: null, against: null };
}

/** "1..5": the worst and the best score. */
function parseRange(text: string): Range {
  const match = /^(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)$/.exec(text.trim());
  const [low, high] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null || low === high)
    throw new UsageError(`--range ${text}: the worst and the best score, such as 1..5`);
  return { low, high };
}
