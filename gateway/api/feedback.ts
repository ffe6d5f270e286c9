// What an application says of an answer, as a Feedback record of the key's tenant.
import { z } from "zod";
import { feedbackKinds, feedbackProblem, feedbackSources } from "../../algorithms/identity/feedback.ts";
import { tokenAuthor } from "../../algorithms/identity/identity.ts";
import type { Feedback } from "../../schemas/types.ts";
import { ApiError, badRequest } from "../errors.ts";
import { invalid } from "./request.ts";
import { requestIdOf } from "./response.ts";

const name = z.string().min(1).max(512);
const longestText = 1_048_576;
const bodySchema = z.strictObject({
  /** Id of the request, or of its completion. */
  request_id: name.optional(),
  /** In its place: the session whose outcome this is. */
  session: name.optional(),
  kind: z.enum(feedbackKinds),
  value: z.number().nullish(),
  range: z.strictObject({ low: z.number(), high: z.number() }).nullish(),
  source: z.enum(feedbackSources).default("person"),
  /** Who said it: all of an author's feedback can be withdrawn at once. */
  author: z.string().max(512).nullish(),
  against: name.nullish(),
  text: z.string().max(longestText).nullish(),
  withdraws: name.nullish(),
  comment: z.string().max(65_536).nullish(),
  /** The same id twice counts once. */
  id: name.nullish(),
});

export interface FeedbackOf {
  tenant: string;
  id: string;
  now: number;
}

/** An outcome of a session has no requestId yet. Throws ApiError. */
export function feedbackOf(body: unknown, { tenant, id, now }: FeedbackOf): Feedback {
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) throw invalid(parsed.error);
  const reported = parsed.data;
  const feedback: Feedback = {
    id: reported.id ?? id,
    requestId: requestIdOf(reported.request_id ?? ""),
    tenant,
    kind: reported.kind,
    value: reported.value ?? null,
    range: reported.range ?? null,
    source: reported.source,
    author: reported.author ?? "",
    against: reported.against ?? null,
    text: reported.text ?? null,
    withdraws: reported.withdraws ?? null,
    session: reported.session ?? null,
    sessionRequests: 1,
    comment: reported.comment ?? null,
    createdAt: now,
  };
  const problem = problemOf(feedback);
  if (problem !== null) throw badRequest(problem[1], problem[0]);
  return feedback;
}

/** What a response's token allows: a person's opinion of it. Throws ApiError for the rest. */
export function feedbackByToken(reported: Feedback, requestId: string): Feedback {
  const refused = (field: string, message: string): ApiError =>
    new ApiError({ status: 403, code: "feedback_not_allowed", param: field, message });
  if (reported.session !== null) throw refused("session", "This token allows feedback on one request.");
  if (reported.requestId !== requestId) throw refused("request_id", "This token allows feedback on another request.");
  if (reported.source !== "person") throw refused("source", "With a token feedback is a person's.");
  if (reported.kind === "reward") throw refused("kind", "With a token feedback is no reward: those need an API key.");
  if (reported.withdraws !== null) throw refused("withdraws", "With a token no feedback is withdrawn: give it again.");
  return { ...reported, author: tokenAuthor };
}

/** Kinds that say how good it was; the others are about one answer. */
const ofSessions: ReadonlySet<Feedback["kind"]> = new Set<Feedback["kind"]>(["thumbs", "score", "reward"]);

const spans: Readonly<Partial<Record<Feedback["kind"], readonly [number, number]>>> = {
  thumbs: [-1, 1],
  preference: [-1, 1],
  comparison: [-3, 3],
  reward: [0, 1],
};

/** The field that is wrong, and why. */
function problemOf(feedback: Feedback): [string, string] | null {
  const { kind, value, range, requestId, session } = feedback;
  if ((requestId === "") === (session === null))
    return ["request_id", "Feedback is on one request_id, or on one session: give one of them."];
  if (session !== null && !ofSessions.has(kind))
    return ["kind", `The outcome of a session is one of ${[...ofSessions].join(", ")}.`];
  const problem = feedbackProblem(feedback);
  if (problem !== null) return [problem.field === "requestId" ? "request_id" : problem.field, problem.why];
  if (value === null) return null;
  const [low, high] =
    kind === "score" && range !== null ? [range.low, range.high] : (spans[kind] ?? [-Infinity, Infinity]);
  return value < Math.min(low, high) || value > Math.max(low, high)
    ? ["value", `A value of ${kind} lies between ${low} and ${high}.`]
    : null;
}
