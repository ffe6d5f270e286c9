// How the automatic judge names its feedback: the same comparison has the same id however often it
// is made, so that it counts once.
import { hash } from "node:crypto";
import { requestKey } from "../../algorithms/identity/identity.ts";

/** What its ids begin with. */
export const ofJudge = "judge-";

interface Compared {
  request_id: string;
  tenant: string;
  other_arm: string;
  judge: string;
}

export function feedbackIdOf({ request_id: requestId, tenant, other_arm: against, judge }: Compared): string {
  const key = `${requestKey(tenant, requestId)} ${judge} ${against}`;
  return ofJudge + hash("sha256", key).slice(0, 32);
}
