// record: everything into ClickHouse. Effectively once: positions are found where the rows are
// (runtime/sink.ts).
import { recordedTopics } from "../../operators/decode/rows.ts";
import type { StageDescription } from "../../runtime/declaration.ts";

export const record = {
  name: "record",
  sources: recordedTopics,
  // How far each partition is stored.
  tables: ["ClickHouse"],
  operators: ["decode", "batch", "redact", "insert"],
  outputs: ["ClickHouse", "dead-letters"],
} as const satisfies StageDescription;
