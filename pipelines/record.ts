// record: everything into ClickHouse. Effectively once: positions are found where the rows are (runtime/sink.ts).
import type { TopicName } from "../schemas/records.ts";
import { recordedTopics } from "../operators/decode/rows.ts";

export interface SinkDescription {
  name: string;
  sources: readonly TopicName[];
  operators: readonly string[];
}

export const record: SinkDescription = {
  name: "record",
  sources: recordedTopics,
  operators: ["decode", "batch", "insert"],
};
