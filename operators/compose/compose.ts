// Writes the prompt of the chosen arm and what plan publishes: the Work for that arm's topic and
// the Decision, both keyed by the request id. Needs route before it; asks nobody. Refuses with
// prompt_too_large when the documents make it so.
import { digestOf } from "../../algorithms/response-cache/answer-key.ts";
import type { Documents } from "../../connections/documents/port.ts";
import { ok, refuse, type Step } from "../../runtime/step.ts";
import type { Decision, Work } from "../../schemas/types.ts";
import type { Composed, Routed } from "../flow.ts";
import { findDocuments, withDocuments } from "../documents.ts";
import { templates, type TemplateName } from "../../arms/templates.ts";
import { asRecord } from "../work-record.ts";

/** What it reads of a request. */
type Needs = Pick<Routed, "request" | "timestamp" | "deadline" | "examplesByArm" | "decision" | "cacheKey">;

interface ComposedArm {
  name: string;
  examples: boolean;
  template: TemplateName;
  system?: string | undefined;
  /** Of an arm that gives examples' answers as they are; its answers are not kept again. */
  reuse?: object | undefined;
}

export interface ComposeDependencies {
  /** The arms as configured now. */
  arms: () => readonly ComposedArm[];
  documents: Documents;
  limits: { maxPromptBytes: number };
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export function createCompose({ arms, documents, limits, clock }: ComposeDependencies): Step<Needs, Composed> {
  return function compose(routed, { timings }) {
    const { request, deadline } = routed;
    const arm = arms().find(({ name }) => name === routed.decision.arm);
    const examples = arm?.examples === false ? [] : (routed.examplesByArm.get(routed.decision.arm) ?? []);
    const found = findDocuments(documents, request.tenant, request.documents);
    const bytes = [...request.messages.map(({ content }) => content), ...found.pieces.map(({ text }) => text)].reduce(
      (sum, text) => sum + Buffer.byteLength(text),
      0,
    );
    if (found.pieces.length > 0 && bytes > limits.maxPromptBytes)
      return refuse(
        "prompt_too_large",
        `The messages and documents have ${bytes} bytes and the limit is ${limits.maxPromptBytes} (limits.maxPromptBytes): name fewer documents.`,
      );
    // The answer without them may be worth something; the decision must not hide what was missing.
    const missing = found.missing.length > 0 ? ["documents"] : [];
    const rough = found.rough.length > 0 ? ["documents_split"] : [];
    const template = templates[arm?.template ?? "chat-turns"];
    const degraded = [...routed.decision.degraded, ...missing, ...rough];
    const { cacheKey: key } = routed;
    // Not what was made of less than there is, nor of documents put anew since the lookup.
    const isOwn = arm?.reuse === undefined;
    const isKept = isOwn && degraded.length === 0 && key?.documents === digestOf(found.pieces.map(({ text }) => text));
    const cacheKey = isKept ? key.hash : null;
    const decision: Decision = {
      ...routed.decision,
      template: template.id,
      cacheKey,
      degraded,
      timings: [...timings],
    };
    const now = clock();
    const work: Work = {
      request,
      decision,
      role: "answer",
      pieces: withDocuments(
        template.pieces({ messages: request.messages, system: arm?.system, examples }),
        found.pieces,
      ),
      fallback: null,
      cacheKey,
      notAfter: deadline,
      plannedAt: now,
      planMs: now - routed.timestamp,
    };
    const emits: Composed["emits"] = [
      { output: "work", arm: decision.arm, key: request.id, record: asRecord(work) },
      { output: "decisions", key: request.id, record: decision },
    ];
    return ok({ ...routed, decision, work, emits });
  };
}
