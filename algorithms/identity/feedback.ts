// Why feedback can't count: the gateway refuses it; from a topic it becomes a dead letter. Pure.
import type { Feedback } from "../../schemas/types.ts";
import { bytesOf, nameBytes } from "./names.ts";

export const feedbackKinds = ["thumbs", "score", "preference", "comparison", "reward", "correction"] as const;
export const feedbackSources = ["person", "judge", "system"] as const;

/** UTF-8 bytes at most. */
const most = {
  ...{ id: nameBytes, requestId: nameBytes, tenant: nameBytes, author: nameBytes, against: nameBytes },
  // A session's name may come in a header.
  ...{ withdraws: nameBytes, session: 512, text: 1_048_576, comment: 1_048_576 },
};
const bounded = Object.keys(most) as (keyof typeof most)[];

/** Why it can't count, and the field. */
interface FeedbackProblem {
  field: keyof Feedback;
  why: string;
}

/** null: none. A value beyond its kind's range is none: learn clips it. */
export function feedbackProblem(feedback: Feedback): FeedbackProblem | null {
  const { kind, source, value, range, against, text, withdraws } = feedback;
  for (const field of bounded) {
    const bytes = bytesOf(feedback[field] ?? "");
    if (bytes > most[field]) return { field, why: `${field} has ${bytes} bytes, and it may have ${most[field]}.` };
  }
  if (!feedbackKinds.includes(kind)) return unknown("kind", kind, feedbackKinds);
  if (!feedbackSources.includes(source)) return unknown("source", source, feedbackSources);
  if (kind === "correction")
    return text === null || text.trim() === ""
      ? { field: "text", why: "A correction needs text: the answer that would have been right." }
      : null;
  if (value === null) return withdraws === null ? { field: "value", why: `${kind} needs a value.` } : null;
  if (!Number.isFinite(value)) return { field: "value", why: `A value of ${kind} is a number, and not ${value}.` };
  if ((kind === "preference" || kind === "comparison") && !against)
    return { field: "against", why: `${kind} needs against: the arm of the other answer.` };
  const span = range === null ? 0 : range.high - range.low;
  return kind === "score" && !(Number.isFinite(span) && span !== 0)
    ? { field: "range", why: "A score needs range: the worst and the best score, {low, high}." }
    : null;
}

const unknown = (field: "kind" | "source", said: string, known: readonly string[]): FeedbackProblem => ({
  field,
  why: `${field} is ${JSON.stringify(said.slice(0, 80))}, and it is one of ${known.join(", ")}.`,
});
