// gateway: HTTP in front of the topics. What any Kafka client can do, for any OpenAI client: a
// request is produced with the gateway's own reply partition, its response read from there.
import type { StageDescription } from "../runtime/declaration.ts";

export const gateway = {
  name: "gateway",
  serves: "HTTP",
  // Its group shares the reply partitions among the gateways.
  sources: ["responses"],
  // Its own partitions alone, as they are assigned; who may ask; and what a request's owner may ask
  // about it.
  tables: ["responses", "deltas", "keys", "ClickHouse"],
  operators: ["accept", "ask", "stream", "answer", "cancel"],
  outputs: ["requests", "cancels", "feedback"],
} as const satisfies StageDescription;
