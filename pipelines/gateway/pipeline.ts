// gateway: HTTP in front of the topics. What any Kafka client can do, for any OpenAI client: a
// request is produced with the gateway's own reply partition, its response read from there.
import type { StageDescription } from "../../runtime/declaration.ts";

export const gateway = {
  name: "gateway",
  serves: "HTTP",
  // Its group shares the reply partitions among the gateways.
  sources: ["responses"],
  // Its own partitions alone, as they are assigned; who may ask; what a request's owner may ask
  // about it; for an open page also decisions, responses and
  // failing arms.
  // batches: those of all gateways; inline-calls: how busy the arms are, for lines of batches;
  // dead-letters: the bytes of one that an operator sends to its topic again.
  tables: [
    "responses",
    "deltas",
    "keys",
    "decisions",
    "policies",
    "breakers",
    "batches",
    "batch-lines",
    "inline-calls",
    "dead-letters",
    "ClickHouse",
  ],
  // It runs none: its routes (gateway/routes/) talk to the topics as any client does.
  operators: [],
  // policies, examples, keys: an old version again, an example taken out, a key created, limited or
  // revoked, by an operator on the page. dead-letters: that one was sent again.
  // responses: refusals of batch lines, since results are read from responses.
  outputs: [
    "requests",
    "cancels",
    "feedback",
    "policies",
    "examples",
    "batches",
    "batch-lines",
    "responses",
    "keys",
    "dead-letters",
  ],
} as const satisfies StageDescription;
