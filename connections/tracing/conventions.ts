// Our words for work in those of OpenTelemetry's semantic conventions: HTTP, messaging and
// generative AI; what they have no name for is `precedent.*`.
import { SpanKind as OtelKind, type Attributes } from "@opentelemetry/api";
import {
  ATTR_ERROR_TYPE,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_MAX_TOKENS,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_REQUEST_SEED,
  ATTR_GEN_AI_REQUEST_TEMPERATURE,
  ATTR_GEN_AI_REQUEST_TOP_P,
  ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
  ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_MESSAGING_CONSUMER_GROUP_NAME,
  ATTR_MESSAGING_DESTINATION_NAME,
  ATTR_MESSAGING_DESTINATION_PARTITION_ID,
  ATTR_MESSAGING_KAFKA_OFFSET,
  ATTR_MESSAGING_OPERATION_NAME,
  ATTR_MESSAGING_OPERATION_TYPE,
  ATTR_MESSAGING_SYSTEM,
} from "@opentelemetry/semantic-conventions/incubating";
import type { Facts, SpanKind } from "./port.ts";

const names: Readonly<Record<keyof Facts, string>> = {
  method: ATTR_HTTP_REQUEST_METHOD,
  route: ATTR_HTTP_ROUTE,
  status: ATTR_HTTP_RESPONSE_STATUS_CODE,
  topic: ATTR_MESSAGING_DESTINATION_NAME,
  partition: ATTR_MESSAGING_DESTINATION_PARTITION_ID,
  offset: ATTR_MESSAGING_KAFKA_OFFSET,
  group: ATTR_MESSAGING_CONSUMER_GROUP_NAME,
  provider: ATTR_GEN_AI_PROVIDER_NAME,
  requestModel: ATTR_GEN_AI_REQUEST_MODEL,
  maxTokens: ATTR_GEN_AI_REQUEST_MAX_TOKENS,
  temperature: ATTR_GEN_AI_REQUEST_TEMPERATURE,
  topP: ATTR_GEN_AI_REQUEST_TOP_P,
  seed: ATTR_GEN_AI_REQUEST_SEED,
  responseModel: ATTR_GEN_AI_RESPONSE_MODEL,
  finishReasons: ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  inputTokens: ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  cachedTokens: ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
  cacheWriteTokens: ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
  outputTokens: ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  reasoningTokens: ATTR_GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
  firstTokenAfter: ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
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
  [ATTR_MESSAGING_SYSTEM]: "kafka",
  [ATTR_MESSAGING_OPERATION_TYPE]: type,
  [ATTR_MESSAGING_OPERATION_NAME]: type,
});

export const kinds: Readonly<Record<SpanKind, { kind: OtelKind; attributes: Attributes }>> = {
  server: { kind: OtelKind.SERVER, attributes: {} },
  send: { kind: OtelKind.PRODUCER, attributes: messaging("send") },
  process: { kind: OtelKind.CONSUMER, attributes: messaging("process") },
  model: { kind: OtelKind.CLIENT, attributes: { [ATTR_GEN_AI_OPERATION_NAME]: "chat" } },
  inside: { kind: OtelKind.INTERNAL, attributes: {} },
};

/** Facts that are undefined say nothing. The convention has a partition as text. */
export function attributesOf(facts: Facts): Attributes {
  const attributes: Attributes = {};
  for (const [fact, value] of Object.entries(facts) as [keyof Facts, Facts[keyof Facts]][])
    if (value !== undefined) attributes[names[fact]] = fact === "partition" ? String(value) : value;
  return attributes;
}

export const errorAttributes = (code: string): Attributes => ({ [ATTR_ERROR_TYPE]: code });
