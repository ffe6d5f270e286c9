// Writes the prompt of the chosen arm, and says whether its answer may be kept. Needs route before
// it. Refuses with unknown_document and prompt_too_large for its documents.
import { digestOf } from "../../algorithms/response-cache/cache-key.ts";
import type { ExampleOrder } from "../../algorithms/selection/example-order.ts";
import { turnsKey } from "../../algorithms/text/conversation-key.ts";
import type { Documents } from "../../connections/documents/port.ts";
import type { PromptMemory } from "../../state/prefixes/prompt-memory.ts";
import { ok, refuse, type Step } from "../../runtime/step.ts";
import type { Composed, Routed } from "../flow.ts";
import { findDocuments, withDocuments } from "../documents.ts";
import { templates, type TemplateName } from "../../arms/templates.ts";

type Needs = Pick<
  Routed,
  "request" | "domain" | "degraded" | "examplesByArm" | "orderByArm" | "exploredThreshold" | "choice" | "cacheKey"
>;
/** `degraded` says which documents were cut at lengths, too. */
type Adds = Pick<Composed, "prompt">;

interface ComposedArm {
  name: string;
  examples: boolean;
  template: TemplateName;
  /** Order of its examples; absent: the most helpful last. */
  order?: ExampleOrder;
  system?: string | undefined;
  /** Set where the arm reuses examples' answers as they are; its answers are not cached. */
  reuse?: object | undefined;
}

export interface ComposeDependencies {
  arms: () => readonly ComposedArm[];
  documents: Documents;
  limits: { maxPromptBytes: number };
  clock: () => number;
  /** Remembers what prompts began with; by default nothing does. */
  memory?: Pick<PromptMemory, "note">;
}

export function createCompose({ arms, documents, limits, clock, memory }: ComposeDependencies): Step<Needs, Adds> {
  return function compose(routed) {
    const { request, choice } = routed;
    const arm = arms().find(({ name }) => name === choice.arm);
    const examples = arm?.examples === false ? [] : (routed.examplesByArm.get(choice.arm) ?? []);
    const found = findDocuments(documents, request.tenant, request.documents);
    if (found.missing.length > 0)
      return refuse(
        "unknown_document",
        `There is no document ${found.missing
          .slice(0, 5)
          .map((id) => JSON.stringify(id))
          .join(", ")}, or it is expired: see precedent documents ls. A new one takes a moment.`,
      );
    const bytes = [...request.messages.map(({ content }) => content), ...found.pieces.map(({ text }) => text)].reduce(
      (sum, text) => sum + Buffer.byteLength(text),
      0,
    );
    if (found.pieces.length > 0 && bytes > limits.maxPromptBytes)
      return refuse(
        "prompt_too_large",
        `The prompt is too long: its messages and documents have ${bytes} bytes and the limit is ${limits.maxPromptBytes} (limits.maxPromptBytes): name fewer documents.`,
      );
    const rough = found.rough.length > 0 ? ["documents_split"] : [];
    const template = templates[arm?.template ?? "chat-turns"];
    const degraded = [...routed.degraded, ...rough];
    const { cacheKey: key } = routed;
    // Degraded prompts are not cached, nor those whose documents changed after the lookup.
    const isOwn = arm?.reuse === undefined;
    const isKept = isOwn && degraded.length === 0 && key?.documents === digestOf(found.pieces.map(({ text }) => text));
    const cacheKey = isKept ? key.hash : null;
    const order = routed.orderByArm.get(choice.arm);
    if (memory !== undefined && order !== undefined && template.linkable && examples.length > 0) {
      // What chance chose for one turn is not shown again as if it had been selected.
      const isExplored =
        order.order === "random" ||
        (order.order !== "kept" && routed.exploredThreshold !== null) ||
        choice.arms.some(({ arm: name, trial }) => name === choice.arm && trial !== null);
      const turn = isExplored ? null : turnsKey(request.tenant, request.messages);
      const shown = examples.map(({ id, similarity, helpfulness, tokens }) => ({
        id,
        similarity,
        helpfulness,
        tokens,
      }));
      const isPrefix = arm?.order === "shared_prefix" && order.order !== "random";
      memory.note(routed.domain, turn, { arm: choice.arm, examples: shown }, isPrefix);
    }
    const pieces = template.pieces({ messages: request.messages, system: arm?.system, examples });
    const prompt = {
      ...{ pieces: withDocuments(pieces, found.pieces), template: template.id, cacheKey, plannedAt: clock() },
    };
    return ok({ ...routed, degraded, prompt });
  };
}
