// gateway: HTTP in front of the topics. What any Kafka client can do, for any OpenAI client: a
// request is produced with the gateway's own reply partition, its response read from there.
import type { StageDescription } from "../../runtime/declaration.ts";

export const gateway = {
  name: "gateway",
  serves: "HTTP",
  // Its group shares the reply partitions among the gateways.
  sources: ["responses"],
  // Its own partitions alone, as they are assigned; who may ask; what a request's owner may ask
  // about it; and for the page, while it is open, what is decided and answered, and which arms
  // fail.
  tables: ["responses", "deltas", "keys", "decisions", "policies", "breakers", "ClickHouse"],
  // It runs none: its routes (gateway/routes/) talk to the topics as any client does.
  operators: [],
  // policies: an old version again, where an operator reverts to it on the page.
  outputs: ["requests", "cancels", "feedback", "policies"],
} as const satisfies StageDescription;
