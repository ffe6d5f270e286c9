// The batches that arms submitted to their providers, on the topic provider-batches: every process
// of an arm must know them after a crash.
import { readTable } from "../runtime/table.ts";
import type { SubmittedBatch } from "../schemas/types.ts";
import type { SessionOf } from "./session.ts";
import { lazyProducer } from "../runtime/send-once.ts";

export function openBatchRecords(session: SessionOf<{ tables: ["provider-batches"]; beside: ["provider-batches"] }>) {
  const { kafka, codec, topic: topicOf, log } = session;
  const topic = topicOf("provider-batches");
  // Most arms submit none.
  const producer = lazyProducer(kafka);
  const send = (key: string, value: Buffer | null): Promise<void> => producer.send([{ topic, key, value }]);
  return {
    read: async () => [...(await readTable({ kafka, codec, topic, record: "provider-batches", log })).values()],
    write: (record: SubmittedBatch) => send(record.id, codec.encode("provider-batches", record)),
    remove: (id: string) => send(id, null),
    close: producer.close,
  };
}
