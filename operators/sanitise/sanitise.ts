// Where a tenant's rules will replace what must not reach a model or be kept (names, keys, card numbers). Stands right after
// validate, so that nothing behind it (cache key, embedding, examples, prompt, record of the decision) sees the original.
// A hook: it passes everything through until rules exist. It must stay deterministic, or exact repeats would no longer be found.
import { ok, type Step } from "../../runtime/step.ts";
import type { Sanitised, Validated } from "../flow.ts";

export function createSanitise(): Step<Validated, Sanitised> {
  return function sanitise(validated) {
    return ok(validated);
  };
}
