// Judges one unrated answer, getting another where needed: comparison feedback with a fixed id, and
// the row by which it is done. Rejects only when aborted.
import type { Arm } from "../../arms/arm.ts";
import type { Compared, Comparison } from "../../algorithms/routing/comparison.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import type { Feedback, Message } from "../../schemas/types.ts";
import { templates, type TemplateName } from "../../arms/templates.ts";
import { feedbackIdOf } from "./feedback-id.ts";
import type { Judgement, Unrated } from "./unrated.ts";

export interface ReferenceArm {
  arm: Pick<Arm, "answer">;
  template: TemplateName;
  system?: string | undefined;
}

const callMs = 120_000;

export interface JudgeUnratedDependencies {
  /** Arm and model: the author of the feedback. */
  judge: string;
  compare: (comparison: Comparison, signal: AbortSignal) => Promise<Compared>;
  reference?: ReferenceArm | undefined;
  share: number;
  clock: () => number;
}

export interface Judged {
  judgement: Judgement;
  /** null: no verdict could be read, or of one order alone. */
  feedback: Feedback | null;
  /** No arm answered: the judge, or the arm of the other answer, is away or refuses this. */
  unanswered: boolean;
}

interface OtherAnswer {
  text: string;
  tokens: number;
  cost: number;
}

export function createJudgeUnrated(dependencies: JudgeUnratedDependencies) {
  const { judge, compare, reference, share, clock } = dependencies;

  async function ask(item: Unrated, signal: AbortSignal): Promise<OtherAnswer | null> {
    if (reference === undefined) return null;
    const { arm, template, system } = reference;
    const answer = await arm.answer(
      {
        requestId: `judge-${item.requestId}`,
        tenant: item.tenant,
        pieces: templates[template].pieces({ messages: item.messages, system, examples: [] }),
        params: { maxTokens: item.maxTokens, temperature: null, topP: null, seed: null, stop: [] },
        deadline: clock() + callMs,
        // A client's conversation, asked once: a cache entry of it would belong to no domain.
        caching: { domain: "", mayStore: false },
      },
      signal,
    );
    signal.throwIfAborted();
    if (answer.kind === "failure") return null;
    return { text: answer.text, tokens: answer.usage.prompt + answer.usage.completion, cost: answer.cost };
  }

  return async function judgeUnrated(item: Unrated, signal: AbortSignal): Promise<Judged> {
    const { requestId, tenant, arm, otherArm, otherText, messages, text: first } = item;
    const other = otherText === null ? await ask(item, signal) : { text: otherText, tokens: 0, cost: 0 };
    const asked: Comparison = { requestId: `judge-${requestId}`, question: questionOf(messages), first, second: "" };
    const compared: Compared =
      other === null
        ? { score: null, verdicts: [], unread: 0, tokens: 0, cost: 0 }
        : await compare({ ...asked, second: other.text }, signal);
    const judgement: Judgement = {
      ...{ request_id: requestId, tenant, arm, other_arm: otherArm, judge, probability: share },
      other: otherText === null ? "generated" : "alternative",
      score: compared.score,
      tokens: compared.tokens + (other?.tokens ?? 0),
      cost: compared.cost + (other?.cost ?? 0),
      judged_at: clock(),
    };
    const feedback: Feedback | null = compared.score === null ? null : feedbackOf(judgement, compared.score);
    return { judgement, feedback, unanswered: compared.tokens === 0 && compared.score === null };
  };
}

function feedbackOf(judgement: Judgement, value: number): Feedback {
  const { request_id: requestId, tenant, other_arm: against, judge: author, judged_at: createdAt } = judgement;
  return plainFeedback({
    id: feedbackIdOf(judgement),
    ...{ requestId, tenant, kind: "comparison", value, source: "judge", author, against, createdAt },
  });
}

/** Text of a single turn; of several turns the whole conversation, each with its role. */
const questionOf = (messages: readonly Message[]): string =>
  messages.length === 1
    ? (messages[0]?.content ?? "")
    : messages.map(({ role, content }) => `${role}: ${content}`).join("\n");
