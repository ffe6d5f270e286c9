// kafkajs 2.2.4 delivers aborted records when two aborted transactions overlap in a partition: its
// filter walks the broker's list in the order received and takes at most one entry a message. This
// filter sorts the list and takes all that are due. Regression test: test/stages/delivery.test.ts.
import { createRequire } from "node:module";
import { replaceModule } from "./kafkajs-internals.ts";

interface Message {
  offset: string;
  key: Buffer | null;
  isControlRecord: boolean;
  batchContext: { producerId: string; inTransaction: boolean };
}
interface AbortedTransaction {
  producerId: string;
  firstOffset: string;
}

/** Key of the control record that ends an aborted transaction: version 0, type 0. */
const abortMarker = Buffer.from([0, 0, 0, 0]);

/** Messages of no aborted transaction; control records stay (kafkajs drops them). */
export function withoutAborted<M extends Message>(options: {
  messages: M[];
  abortedTransactions?: AbortedTransaction[] | null;
}): M[] {
  const { messages, abortedTransactions } = options;
  if (!abortedTransactions?.length) return messages;
  const due = abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, first: BigInt(firstOffset) }))
    .sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const open = new Set<string>();
  let next = 0;
  return messages.filter((message) => {
    const offset = BigInt(message.offset);
    for (let entry = due[next]; entry !== undefined && entry.first <= offset; entry = due[++next])
      open.add(entry.producerId);
    const producer = message.batchContext.producerId;
    if (message.isControlRecord) {
      if (message.key !== null && abortMarker.equals(message.key)) open.delete(producer);
      return true;
    }
    return !(message.batchContext.inTransaction && open.has(producer));
  });
}

/** Before our own first use of kafkajs; others may have loaded it. */
export function patchAbortedFilter(): void {
  replaceModule(createRequire(import.meta.url), "kafkajs/src/consumer/filterAbortedMessages.js", withoutAborted);
}
