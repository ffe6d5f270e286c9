// Our words for work in those of OpenTelemetry's semantic conventions: HTTP, messaging and
// generative AI; what they have no name for is `precedent.*`.
import { SpanKind as OtelKind, type Attributes } from "@opentelemetry/api";
import * as otel from "@opentelemetry/semantic-conventions/incubating";
import type { Facts, SpanKind } from "./port.ts";

const names: Readonly<Record<keyof Facts, string>> = {
  method: otel.ATTR_HTTP_REQUEST_METHOD,
  route: otel.ATTR_HTTP_ROUTE,
  status: otel.ATTR_HTTP_RESPONSE_STATUS_CODE,
  topic: otel.ATTR_MESSAGING_DESTINATION_NAME,
  partition: otel.ATTR_MESSAGING_DESTINATION_PARTITION_ID,
  offset: otel.ATTR_MESSAGING_KAFKA_OFFSET,
  group: otel.ATTR_MESSAGING_CONSUMER_GROUP_NAME,
  provider: otel.ATTR_GEN_AI_PROVIDER_NAME,
  requestModel: otel.ATTR_GEN_AI_REQUEST_MODEL,
  maxTokens: otel.ATTR_GEN_AI_REQUEST_MAX_TOKENS,
  temperature: otel.ATTR_GEN_AI_REQUEST_TEMPERATURE,
  topP: otel.ATTR_GEN_AI_REQUEST_TOP_P,
  seed: otel.ATTR_GEN_AI_REQUEST_SEED,
  responseModel: otel.ATTR_GEN_AI_RESPONSE_MODEL,
  finishReasons: otel.ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  inputTokens: otel.ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  cachedTokens: otel.ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  cacheWriteTokens: otel.ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
  outputTokens: otel.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  reasoningTokens: otel.ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
  firstTokenAfter: otel.ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
  stage: "precedent.stage",
  requestId: "precedent.request.id",
  tenant: "precedent.tenant",
  domain: "precedent.domain",
  outcome: "precedent.outcome",
  code: "precedent.code",
  source: "precedent.source",
  cached: "precedent.cached",
  duplicate: "precedent.duplicate",
  arm: "precedent.arm",
  propensity: "precedent.propensity",
  policyVersion: "precedent.policy.version",
  examples: "precedent.examples",
  attempts: "precedent.attempts",
  failedArms: "precedent.failed_arms",
  cost: "precedent.cost",
  degraded: "precedent.degraded",
};

const messaging = (type: string): Attributes => ({
  [otel.ATTR_MESSAGING_SYSTEM]: "kafka",
  [otel.ATTR_MESSAGING_OPERATION_TYPE]: type,
  [otel.ATTR_MESSAGING_OPERATION_NAME]: type,
});

export const kinds: Readonly<Record<SpanKind, { kind: OtelKind; attributes: Attributes }>> = {
  server: { kind: OtelKind.SERVER, attributes: {} },
  send: { kind: OtelKind.PRODUCER, attributes: messaging("send") },
  process: { kind: OtelKind.CONSUMER, attributes: messaging("process") },
  model: { kind: OtelKind.CLIENT, attributes: { [otel.ATTR_GEN_AI_OPERATION_NAME]: "chat" } },
  inside: { kind: OtelKind.INTERNAL, attributes: {} },
};

/** Facts that are undefined say nothing. The convention has a partition as text. */
export function attributesOf(facts: Facts): Attributes {
  const attributes: Attributes = {};
  for (const [fact, value] of Object.entries(facts) as [keyof Facts, Facts[keyof Facts]][])
    if (value !== undefined) attributes[names[fact]] = fact === "partition" ? String(value) : value;
  return attributes;
}

export const errorAttributes = (code: string): Attributes => ({ [otel.ATTR_ERROR_TYPE]: code });
