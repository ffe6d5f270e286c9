// What a request that is answered from the response cache leaves: a decision that says so, with
// nothing in it from which a router could learn, and a response that cost nothing. Pure.
import type { Emit } from "../../runtime/step.ts";
import type { StepTiming } from "../../schemas/types.ts";
import type { Assigned } from "../flow.ts";
import { noAnswer } from "../../schemas/no-answer.ts";
import { replyPartition } from "../refusal.ts";
import type { CachedAnswer } from "../../state/response-cache/entries.ts";

export interface Hit extends Pick<
  Assigned,
  "request" | "position" | "domain" | "receivedAt" | "timestamp" | "experiment"
> {
  hash: string;
  answer: CachedAnswer;
  now: number;
  timings: StepTiming[];
}

export const hitDecision = ({
  request,
  position,
  domain,
  experiment,
  hash,
  answer,
  now,
  timings,
}: Hit): Emit<"decisions"> => ({
  output: "decisions",
  key: request.id,
  record: {
    requestId: request.id,
    partition: position.partition,
    offset: position.offset,
    tenant: request.tenant,
    domain,
    // No features, no scores, no versions: no policy decided.
    ...{ featureVersion: 0, arms: [], policyVersion: 0, helpfulnessVersion: 0, helpfulnessFeatures: 0, load: 0 },
    ...{ threshold: 0, exploredThreshold: null, alternativeArm: null, alternativeProbability: null, template: "" },
    arm: answer.arm,
    probability: 1,
    ...{ asked: false, askProbability: 0, alternative: false },
    breakers: {},
    reuse: null,
    experiment,
    source: "cache",
    cacheKey: hash,
    degraded: [],
    timings,
    createdAt: now,
  },
});

export const hitResponse = (
  { request, domain, answer, now, receivedAt, timestamp }: Hit,
  partitions: number,
): Emit<"responses"> => ({
  output: "responses",
  key: request.id,
  record: {
    ...noAnswer(),
    requestId: request.id,
    tenant: request.tenant,
    domain,
    status: "ok",
    text: answer.text,
    finishReason: answer.finishReason,
    stopSequence: answer.stopSequence,
    arm: answer.arm === "" ? null : answer.arm,
    model: answer.model === "" ? null : answer.model,
    source: "cache",
    savedCost: answer.cost,
    account: request.account,
    timings: { plan: now - receivedAt, queue: 0, firstToken: null, total: Math.max(0, now - timestamp) },
    error: null,
    createdAt: now,
  },
  ...replyPartition(request, partitions),
});
