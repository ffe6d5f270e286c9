// The policy by which a prompt's chunks are linked: the request's (`link-policy` in metadata) or
// the arm's. The arm's process links (arms/linked/model.ts). Runs before call; never fails.
import { parsePolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import { ok, type Step } from "../../runtime/step.ts";
import type { Linked, Taken } from "../flow.ts";

type Needs = Pick<Taken, "record">;
type Adds = Pick<Linked, "prompt">;

const LINK_POLICY = "link-policy";

export function createLink(): Step<Needs, Adds> {
  // Its logger is made when it is read, and few requests need one.
  return function link(taken, context) {
    const { pieces, request } = taken.record;
    const asked = request.metadata[LINK_POLICY];
    if (asked === undefined) return ok({ ...taken, prompt: { pieces } });
    const policy = parsePolicy(asked);
    if ("problem" in policy) {
      context.log.warn(
        { requestId: request.id, field: `metadata.${LINK_POLICY}`, problem: policy.problem },
        "the request names no policy of linked prefill that is served: the arm's own is used",
      );
      return ok({ ...taken, prompt: { pieces } });
    }
    return ok({ ...taken, prompt: { pieces, linkPolicy: asked } });
  };
}
