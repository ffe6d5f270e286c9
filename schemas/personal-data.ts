// Where requests, answers and feedback are stored and how they are found (`precedent forget`,
// docs/privacy.md). Unlisted topics don't compile, unlisted tables fail a test.
import type { TopicName } from "./records.ts";

/**
 * request: by tenant and id. letter: by its bytes. example: by the request of its answer. document:
 * by tenant; tenant: by tenant alone. none: nothing of a request, and why.
 */
export type SearchKey = "request" | "letter" | "example" | "cache-entry" | "document" | "tenant" | { none: string };

export const personalTopics: Readonly<Record<TopicName, SearchKey>> = {
  requests: "request",
  "seen-ids": "request",
  responses: "request",
  "alternative-answers": "request",
  deltas: "request",
  cancels: "request",
  feedback: "request",
  "tenant-requests": "request",
  "tenant-feedback": "request",
  "tenant-responses": "request",
  "tenant-alternative-answers": "request",
  "tenant-deltas": "request",
  decisions: "request",
  work: "request",
  observations: "request",
  "prefill-samples": "request",
  "response-cache": "cache-entry",
  examples: "example",
  documents: "document",
  batches: "tenant",
  "batch-lines": "tenant",
  "dead-letters": "letter",
  "example-replays": { none: "ids of examples, figures" },
  withdrawals: { none: "names of sources and authors, as an operator wrote them" },
  erasures: { none: "hashes" },
  policies: { none: "numbers, names of arms, of tenants and of sharing domains" },
  "kv-inventory": { none: "a Bloom filter of hashes, and counts of tokens, for minutes" },
  "inline-calls": { none: "counts" },
  breakers: { none: "states of arms" },
  "provider-batches": { none: "hashes of ids, for two days" },
  keys: { none: "names of tenants and hashes of keys; precedent keys revoke" },
};

/** `time`: the column that separates records from before a tenant's erasure from later ones. */
export type TableSearch =
  | { by: "request"; request: string; time: string | null }
  | { by: "letter"; time: string }
  | { by: "example-replay" }
  | { none: string };

const byRequest = (time: string | null, request = "request_id"): TableSearch => ({ by: "request", request, time });

/** Tables of schemas/clickhouse. Requests come last: by them the rest is found. */
export const personalTables: Readonly<Record<string, TableSearch>> = {
  request_arrivals: byRequest("created_at"),
  decisions: byRequest("created_at"),
  responses: byRequest("created_at"),
  alternative_answers: byRequest("created_at"),
  example_uses: byRequest("created_at"),
  example_trials: byRequest("created_at"),
  feedback: byRequest("created_at"),
  feedback_excess: byRequest("created_at"),
  rewards: byRequest("newest_at"),
  judgements: byRequest("judged_at"),
  admissions: byRequest("decided_at"),
  policy_terms: byRequest("decided_at"),
  prefill_samples: byRequest("created_at"),
  examples: byRequest("created_at", "ifNull(source_request_id, '')"),
  example_replays: { by: "example-replay" },
  example_replay_runs: { none: "when example replays ran, figures, why one failed" },
  dead_letters: { by: "letter", time: "created_at" },
  observations: byRequest("created_at"),
  requests: byRequest("created_at"),
  withdrawals: { none: "names of sources and authors, as an operator wrote them" },
  erasures: { none: "hashes" },
  account_costs: { none: "ids of keys, hashes and costs: what is erased has been paid all the same" },
  policies: { none: "numbers, names of arms, of tenants and of sharing domains" },
  answer_hours: { none: "sums over answers of an hour, names of tenants and domains, ids of keys" },
  answer_days: { none: "sums over answers of a day, names of tenants and domains, ids of keys" },
  arm_hours: { none: "sums over requests of an hour" },
  tenant_arm_hours: { none: "sums over requests of an hour, and the name of the tenant" },
  domain_arm_hours: { none: "sums over requests of an hour, and the name of the sharing domain" },
  learn_positions: { none: "positions" },
  cursors: { none: "positions" },
  synthesis_rounds: { none: "questions that a model made up, differentially private" },
  migrations: { none: "names of files" },
};
