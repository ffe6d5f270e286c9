// How the automatic judge names its feedback: the same comparison has the same id however often it
// is made, so that it counts once.
import { hash } from "node:crypto";
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { Judgement } from "./unrated.ts";

/** What its ids begin with. */
export const ofJudge = "judge-";

export function feedbackIdOf(judgement: Pick<Judgement, "request_id" | "tenant" | "other_arm" | "judge">): string {
  const { request_id: requestId, tenant, other_arm: against, judge } = judgement;
  const key = `${requestKey(tenant, requestId)} ${judge} ${against}`;
  return ofJudge + hash("sha256", key).slice(0, 32);
}
