// Whether what a request hands to an endpoint as it is can be: a JSON object of what may be passed
// on, with all that it requires said, so that no arm gets what it has not declared.
import { covers, readPassthrough } from "../../algorithms/routing/passthrough.ts";
import type { Request } from "../../schemas/types.ts";

/** Null when it can. */
export function passthroughProblem(request: Pick<Request, "passthrough" | "requires" | "documents">): string | null {
  const { passthrough, requires, documents } = request;
  if (passthrough === null)
    return requires.length === 0 ? null : "requires says what a passthrough needs, and there is none";
  const read = readPassthrough(passthrough);
  if ("problem" in read) return read.problem;
  const missing = read.requires.filter((one) => !covers(requires, one));
  if (missing.length > 0) return `requires lacks ${missing.join(", ")}`;
  return documents.length > 0 && read.members["messages"] !== undefined
    ? "documents can't be put into messages that are passed on as they are"
    : null;
}
