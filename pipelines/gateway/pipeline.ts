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
  // batches: those of all gateways; inline-calls: how busy the arms are, for lines of batches.
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
    "ClickHouse",
  ],
  // It runs none: its routes (gateway/routes/) talk to the topics as any client does.
  operators: [],
  // policies, examples: an old version again, and an example taken out, by an operator on the page.
  // responses: refusals of batch lines, since results are read from responses.
  outputs: ["requests", "cancels", "feedback", "policies", "examples", "batches", "batch-lines", "responses"],
} as const satisfies StageDescription;
