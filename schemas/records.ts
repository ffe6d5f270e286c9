// Which record stands on which topic. The Avro files are the contract; types.ts follows.
import type { RecordFiles } from "./types.ts";

/** Topic (without prefix) to its record's file in schemas/avro; `work` stands for many. */
export const schemaOf = {
  requests: "request",
  "seen-ids": "seen-id",
  "tenant-requests": "request",
  responses: "response",
  "tenant-responses": "response",
  "alternative-answers": "response",
  "tenant-alternative-answers": "response",
  deltas: "delta",
  "tenant-deltas": "delta",
  cancels: "cancel",
  feedback: "feedback",
  "tenant-feedback": "feedback",
  withdrawals: "withdrawal",
  erasures: "erasure",
  decisions: "decision",
  work: "work",
  "response-cache": "cache-entry",
  examples: "example",
  policies: "policy",
  observations: "observation",
  "example-replays": "example-replay",
  documents: "document",
  "kv-inventory": "kv-inventory",
  "inline-calls": "inline-calls",
  breakers: "arm-breaker",
  keys: "api-key",
  batches: "batch-part",
  "batch-lines": "batch-line",
  "provider-batches": "submitted-batch",
  "prefill-samples": "prefill-sample",
  "dead-letters": "dead-letter",
} as const satisfies Record<string, keyof RecordFiles>;

export type TopicName = keyof typeof schemaOf;

/** Topic to record. */
export type RecordOf = { [N in TopicName]: RecordFiles[(typeof schemaOf)[N]] };

declare const topic: unique symbol;
/** Full name of a topic, with its prefix; its type says which topic it is. */
export type Topic<N extends TopicName | "locks"> = string & { readonly [topic]: N };

/** Prefixes of topics of which each tenant with Kafka access has one. */
export const tenantTopics = {
  "tenant-requests": "requests.",
  "tenant-feedback": "feedback.",
  "tenant-responses": "responses.",
  "tenant-alternative-answers": "alternative-answers.",
  "tenant-deltas": "deltas.",
} as const satisfies Partial<Record<TopicName, string>>;

export type TenantTopic = keyof typeof tenantTopics;

export const isTenantTopic = (topic: string): topic is TenantTopic => Object.hasOwn(tenantTopics, topic);

export interface TopicOwners {
  arms: readonly string[];
  tenants: readonly string[];
  /** Those of them that have a topic of pieces of answers, too. */
  streaming: readonly string[];
}

/** Whose topics stand for one name: [undefined] where it is one topic. */
export function ownersOf(
  topic: TopicName | "locks",
  { arms, tenants, streaming }: TopicOwners,
): readonly (string | undefined)[] {
  if (topic === "work") return arms;
  if (topic === "tenant-deltas") return streaming;
  return isTenantTopic(topic) ? tenants : [undefined];
}

/** Name of a topic without prefix; `owner`: the arm, or the tenant, where there is one for each. */
export function shortTopicName(topic: TopicName | "locks", owner?: string): string {
  if (isTenantTopic(topic)) return tenantTopics[topic] + (owner ?? "");
  return topic === "work" && owner !== undefined ? `work.${owner}` : topic;
}
