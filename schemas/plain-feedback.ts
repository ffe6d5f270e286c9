// Feedback as most is: a person's, on one request of the default tenant, without a text.
import type { Feedback } from "./types.ts";

type Needed = Pick<Feedback, "id" | "requestId" | "kind" | "createdAt">;

/** Members of `more` win. */
export const plainFeedback = (more: Needed & Partial<Feedback>): Feedback => ({
  tenant: "default",
  value: null,
  range: null,
  source: "person",
  author: "",
  against: null,
  text: null,
  withdraws: null,
  session: null,
  sessionRequests: 1,
  comment: null,
  ...more,
});
