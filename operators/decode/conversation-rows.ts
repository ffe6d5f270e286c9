// Rows of what happens to a request: the request, its decision, the examples shown for it, its
// response. Pure, as rows.ts says.
import { chargedCost } from "../../algorithms/queueing/spend-limit.ts";
import { requestHash } from "../../algorithms/text/canonical.ts";
import { erasedRequest } from "../../algorithms/privacy/erasure.ts";
import { identify, sharingDomain } from "../../algorithms/identity/identity.ts";
import { metadataBytes, mostMetadataBytes } from "../../algorithms/identity/names.ts";
import type { Row } from "../../runtime/rows.ts";
import type { ArmScore, Decision, Request, Response } from "../../schemas/types.ts";
import {
  at,
  clientTime,
  double,
  doubleOrNull,
  doubles,
  ownTime,
  time,
  timeOrNull,
  traceIdOf,
  type RowPosition,
} from "./values.ts";

export const messagesOf = (request: Request): object[] =>
  request.messages.map(({ role, content }) => ({ role, content }));

export function requestRow(record: Request, position: RowPosition): Row {
  const request = identify(record, position, position.timestamp);
  return {
    request_id: request.id,
    tenant: request.tenant,
    domain: sharingDomain(request.tenant, request.domain),
    messages: messagesOf(request),
    documents: request.documents,
    max_tokens: request.params.maxTokens,
    temperature: doubleOrNull(request.params.temperature),
    top_p: doubleOrNull(request.params.topP),
    seed: request.params.seed,
    stop: request.params.stop,
    allowed_arms: request.allow.arms ?? [],
    max_cost: doubleOrNull(request.allow.maxCost),
    deadline_ms: request.allow.deadlineMs,
    cost_weight: doubleOrNull(request.allow.costWeight),
    privacy_cache: request.privacy.cache,
    privacy_share: request.privacy.share,
    privacy_fresh: request.privacy.fresh,
    may_ask: request.mayAsk,
    reply_partition: request.replyPartition,
    passthrough: record.passthrough ?? "",
    requires: record.requires,
    // Refused by plan; its row is there all the same.
    metadata: metadataBytes(request.metadata) > mostMetadataBytes.recorded ? {} : request.metadata,
    created_at: time(clientTime(record.createdAt, position)),
    reported_at: timeOrNull(record.createdAt),
    request_hash: requestHash(record),
    trace_id: traceIdOf(position.traceparent),
    ...at(position),
  };
}

/** Every record of requests has an arrival, repeats of an id too. */
export const arrivalRow = ({ request_id, tenant, request_hash, created_at }: Row, position: RowPosition): Row => ({
  ...{ request_id, tenant, request_hash, created_at },
  ...at(position),
});

const armColumn = (score: ArmScore): object => ({
  arm: score.arm,
  model: score.model,
  cost: double(score.cost),
  context: doubles(score.context),
  mean: double(score.mean),
  deviation: double(score.deviation),
  sampled: double(score.sampled),
  bias: double(score.bias),
  probability: double(score.probability),
  examples: score.examples.map((example) => ({
    id: example.id,
    similarity: double(example.similarity),
    helpfulness: double(example.helpfulness),
    tokens: example.tokens,
    explored: example.explored,
  })),
  order: score.order,
});

const byArm = (arms: readonly ArmScore[], what: "cachedShare" | "saturation"): object =>
  Object.fromEntries(arms.flatMap((score) => (score[what] === 0 ? [] : [[score.arm, double(score[what])]])));

const reuseColumns = (reuse: Decision["reuse"]): object => ({
  reuse_arm: reuse?.arm ?? "",
  reuse_example: reuse?.exampleId ?? "",
  reuse_similarity: double(reuse?.similarity ?? 0),
  reuse_quality: double(reuse?.quality ?? 0),
  reuse_bound: double(reuse?.bound ?? 0),
  reuse_state: reuse?.state ?? "",
  reuse_verifies: reuse?.verifies ?? false,
});

export const decisionRow = (record: Decision, position: RowPosition): Row => ({
  request_id: record.requestId,
  tenant: record.tenant,
  domain: record.domain,
  requests_partition: record.partition,
  requests_offset: record.offset,
  feature_version: record.featureVersion,
  arms: record.arms.map(armColumn),
  arm: record.arm,
  probability: double(record.probability),
  alternative_arm: record.alternativeArm,
  alternative_probability: doubleOrNull(record.alternativeProbability),
  threshold: double(record.threshold),
  explored_threshold: doubleOrNull(record.exploredThreshold),
  load: double(record.load),
  cached_shares: byArm(record.arms, "cachedShare"),
  saturation: byArm(record.arms, "saturation"),
  policy_version: record.policyVersion,
  helpfulness_version: record.helpfulnessVersion,
  template: record.template,
  asked: record.asked,
  ask_probability: doubleOrNull(record.askProbability),
  alternative: record.alternative,
  breakers: record.breakers,
  ...reuseColumns(record.reuse),
  experiment: record.experiment?.name ?? "",
  variant: record.experiment?.variant ?? "",
  variant_is_control: record.experiment?.isControl ?? false,
  variant_probability: double(record.experiment?.probability ?? 0),
  experiment_unit: record.experiment?.unit ?? "",
  source: record.source,
  cache_key: record.cacheKey ?? "",
  degraded: record.degraded,
  timings: record.timings.map(({ operator, ms }) => ({ operator, ms: double(ms) })),
  created_at: time(ownTime(record.createdAt, position)),
  ...at(position),
});

export const responseRow = (record: Response, position: RowPosition): Row => ({
  request_id: record.requestId,
  tenant: record.tenant,
  domain: record.domain,
  account: record.account ?? "",
  attempt: record.attempt,
  status: record.status,
  text: record.text,
  passthrough: record.passthrough ?? "",
  finish_reason: record.finishReason,
  stop_sequence: record.stopSequence,
  arm: record.arm,
  model: record.model,
  failed_arms: record.failedArms.map(({ cost, ms, ...failed }) => ({ ...failed, cost: double(cost), ms: double(ms) })),
  source: record.source,
  example_ids: record.exampleIds,
  example_tokens: record.exampleTokens,
  prompt_tokens: record.usage.prompt,
  linked_tokens: record.usage.linked,
  recomputed_tokens: record.usage.recomputed,
  prefilled_tokens: record.usage.prefilled,
  cached_tokens: record.usage.cached,
  cache_write_tokens: record.usage.cacheWrite,
  completion_tokens: record.usage.completion,
  reasoning_tokens: record.usage.reasoning,
  tokens_estimated: record.usage.estimated,
  link_policy: record.linkPolicy,
  duplicate: record.duplicate,
  cost: double(record.cost),
  failed_cost: double(record.failedCost),
  billed: record.billed,
  saved_cost: double(record.savedCost),
  plan_ms: double(record.timings.plan),
  queue_ms: double(record.timings.queue),
  first_token_ms: doubleOrNull(record.timings.firstToken),
  total_ms: double(record.timings.total),
  error_code: record.error?.code ?? null,
  error_message: record.error?.message ?? null,
  degraded: record.degraded,
  created_at: time(ownTime(record.createdAt, position)),
  ...at(position),
});

/** What the response cost, where it is charged to an account: one row at most. */
export function accountCostRows(record: Response, position: RowPosition): Row[] {
  const charged = chargedCost(record);
  if (charged === null) return [];
  const createdAt = time(ownTime(record.createdAt, position));
  return [
    {
      account: charged.account,
      day: createdAt.slice(0, 10),
      // The same for a record that comes again, and says nothing once the request is erased.
      hash: erasedRequest(record.tenant, record.requestId),
      cost: charged.cost,
      estimated: record.usage.estimated,
      created_at: createdAt,
      ...at(position),
    },
  ];
}
