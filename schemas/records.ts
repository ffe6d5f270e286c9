// Which record stands on which topic. The Avro files beside this one are the contract; types.ts
// follows them.
import type {
  CacheEntry,
  ApiKey,
  ArmBreaker,
  BatchLine,
  BatchPart,
  Cancel,
  DeadLetter,
  Decision,
  Delta,
  Document,
  Erasure,
  Example,
  Feedback,
  InlineCalls,
  KvInventory,
  Observation,
  Policy,
  PrefillSample,
  ExampleReplay,
  Request,
  Response,
  SeenId,
  SubmittedBatch,
  Withdrawal,
  Work,
} from "./types.ts";

/** Topic (without prefix) to record; `work` and tenants' topics stand for many. */
export interface RecordOf {
  requests: Request;
  "seen-ids": SeenId;
  "tenant-requests": Request;
  responses: Response;
  "tenant-responses": Response;
  "alternative-answers": Response;
  "tenant-alternative-answers": Response;
  deltas: Delta;
  "tenant-deltas": Delta;
  cancels: Cancel;
  feedback: Feedback;
  "tenant-feedback": Feedback;
  withdrawals: Withdrawal;
  erasures: Erasure;
  decisions: Decision;
  work: Work;
  "response-cache": CacheEntry;
  examples: Example;
  policies: Policy;
  observations: Observation;
  "example-replays": ExampleReplay;
  documents: Document;
  "kv-inventory": KvInventory;
  "inline-calls": InlineCalls;
  breakers: ArmBreaker;
  keys: ApiKey;
  batches: BatchPart;
  "batch-lines": BatchLine;
  "provider-batches": SubmittedBatch;
  "prefill-samples": PrefillSample;
  "dead-letters": DeadLetter;
}

export type TopicName = keyof RecordOf;

declare const topic: unique symbol;
/** Full name of a topic, with its prefix; its type says which topic it is. */
export type Topic<N extends TopicName | "locks"> = string & { readonly [topic]: N };

/** File in schemas/avro, without extension, that every topic's records follow. */
export const schemaOf: Readonly<Record<TopicName, string>> = {
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
};

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
