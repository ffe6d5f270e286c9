// Hook of linked prefill: later it looks which pieces of the prompt an arm's KV store holds, and links them. Now it passes on the
// prompt as composed, which every arm can answer. Runs before call; keeps no state and never fails.
import { ok, type Step } from "../../runtime/step.ts";
import type { Linked, Taken } from "../flow.ts";

export function createLink(): Step<Taken, Linked> {
  return function link(taken) {
    return ok({ ...taken, prompt: { pieces: taken.record.pieces } });
  };
}
