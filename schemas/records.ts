// Which record stands on which topic. The Avro files beside this one are the contract; types.ts
// follows them.
import type {
  Answer,
  ApiKey,
  ArmBreaker,
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
  Replay,
  Request,
  Response,
  Withdrawal,
  Work,
} from "./types.ts";

/** Topic (without prefix) to record. `work` stands for every `work.<arm>`. */
export interface RecordOf {
  requests: Request;
  responses: Response;
  alternatives: Response;
  deltas: Delta;
  cancels: Cancel;
  feedback: Feedback;
  withdrawals: Withdrawal;
  erasures: Erasure;
  decisions: Decision;
  work: Work;
  answers: Answer;
  examples: Example;
  policies: Policy;
  observations: Observation;
  replays: Replay;
  documents: Document;
  "kv-inventory": KvInventory;
  "inline-calls": InlineCalls;
  breakers: ArmBreaker;
  keys: ApiKey;
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
  responses: "response",
  alternatives: "response",
  deltas: "delta",
  cancels: "cancel",
  feedback: "feedback",
  withdrawals: "withdrawal",
  erasures: "erasure",
  decisions: "decision",
  work: "work",
  answers: "answer",
  examples: "example",
  policies: "policy",
  observations: "observation",
  replays: "replay",
  documents: "document",
  "kv-inventory": "kv-inventory",
  "inline-calls": "inline-calls",
  breakers: "arm-breaker",
  keys: "api-key",
  "prefill-samples": "prefill-sample",
  "dead-letters": "dead-letter",
};
