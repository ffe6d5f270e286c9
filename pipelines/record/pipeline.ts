// record: everything into ClickHouse, effectively once: positions are with the rows (sink.ts).
import { createBatch } from "../../operators/batch/batch.ts";
import { createDecode } from "../../operators/decode/decode.ts";
import { recordedTopics } from "../../operators/decode/rows.ts";
import { createInsert } from "../../operators/insert/insert.ts";
import { createMasking } from "../../operators/redact/redact.ts";
import { createWithoutErased } from "../../operators/without-erased/without-erased.ts";
import type { Declaration } from "../../runtime/declaration.ts";
import { sinkPipeline } from "../../runtime/sink-pipeline.ts";

const declaration = {
  name: "record",
  sources: recordedTopics,
  // How far each partition is stored.
  tables: ["ClickHouse"],
  outputs: ["ClickHouse", "dead-letters"],
} as const satisfies Declaration;

const steps = sinkPipeline()
  .decode("decode", createDecode)
  .batch("batch", createBatch)
  .through("without-erased", createWithoutErased)
  .through("redact", createMasking)
  .insert("insert", createInsert);

export const record = { ...declaration, ...steps } as const;
