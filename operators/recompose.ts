// A work's prompt for another arm: that arm's template and system prompt, the same documents, and
// its selected examples with known texts. Pure.
import type { Piece, Work } from "../schemas/types.ts";
import { withDocuments } from "./documents.ts";
import type { SelectedExample } from "./flow.ts";
import { templates, type TemplateName } from "../arms/templates.ts";

export interface ComposingArm {
  name: string;
  examples: boolean;
  template: TemplateName;
  system?: string | undefined;
}

type Scored = Pick<Work["decision"], "arms">;
type ExampleText = Pick<SelectedExample, "id" | "request" | "response">;

/** `selected`: by arm; where that is gone, texts come from the prompt. */
export function recompose(
  { request, decision, pieces }: Pick<Work, "request" | "pieces"> & { decision: Scored },
  arm: ComposingArm,
  selected?: ReadonlyMap<string, readonly ExampleText[]>,
): Piece[] {
  const prompt = templates[arm.template].pieces({
    ...{ messages: request.messages, system: arm.system },
    examples: arm.examples ? (selected?.get(arm.name) ?? inPrompt(decision, pieces, arm.name)) : [],
  });
  return withDocuments(
    prompt,
    pieces.filter(({ kind }) => kind === "document"),
  );
}

/** Only of chat turns: in a guided prompt an example's text is laid out already. */
function inPrompt(decision: Scored, pieces: readonly Piece[], arm: string): ExampleText[] {
  const texts = new Map<string, { request?: string; response?: string }>();
  for (const { kind, id, role, text } of pieces)
    if (kind === "example" && id !== null)
      texts.set(id, { ...texts.get(id), [role === "assistant" ? "response" : "request"]: text });
  const chosen = decision.arms.find((score) => score.arm === arm)?.examples ?? [];
  return chosen.flatMap(({ id }) => {
    const { request, response } = texts.get(id) ?? {};
    return request === undefined || response === undefined ? [] : [{ id, request, response }];
  });
}
