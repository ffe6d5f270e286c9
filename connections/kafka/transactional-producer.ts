// One transactional producer per stage process. Offsets go first: a fenced attempt then aborts
// before any data is written (docs/design/delivery.md, Work outside transactions). kafkajs wedges
// its producer when EndTxn fails, so after an unknown outcome it is discarded and another one
// initialised. The same happens after records were refused: it is unknown which sequence numbers
// the brokers have counted, and they would refuse later records or drop them as duplicates of
// aborted ones. A new epoch starts from 0.
import type { Kafka as KafkaClient, Producer, Transaction as KafkajsTransaction } from "kafkajs";
import { classifyKafkaError, TransactionAborted, TransactionOutcomeUnknown } from "./errors.ts";
import { groupByTopic } from "./messages.ts";
import { whileConcurrent } from "./while-concurrent.ts";
import { within } from "./within.ts";
import type { FencedTopics } from "./kafkajs-fencing.ts";
import { createPartitioner } from "./partitioner.ts";
import type { Transaction, TransactionalProducer } from "./port.ts";
import type { Sweep } from "./sweep.ts";

/** A hanging broker must not block the end, or the next producer. */
const disconnect = (producer: Producer): Promise<void> => within(disconnectMs, producer.disconnect());
const disconnectMs = 2_000;

export interface ProducerOptions {
  transactionalId: string;
  /** After this an open transaction of a dead process stops stalling read-committed readers. */
  transactionTimeoutMs: number;
  /** Ends what former lives left open. */
  sweep?: Sweep | undefined;
}

export function createTransactionalProducer(
  client: KafkaClient,
  { transactionalId, transactionTimeoutMs, sweep }: ProducerOptions,
): TransactionalProducer {
  let producer: Producer | undefined;

  const discard = async (): Promise<void> => {
    const old = producer;
    producer = undefined;
    if (old !== undefined) await disconnect(old);
  };

  const sendOffsets = async (
    transaction: KafkajsTransaction,
    { group, member, offsets }: Transaction,
  ): Promise<void> => {
    const topics: FencedTopics = offsets.map(({ topic, partitions }) => ({ topic, partitions }));
    topics.member = member;
    await whileConcurrent(() => transaction.sendOffsets({ consumerGroupId: group, topics }));
  };

  const initialise = async (): Promise<void> => {
    await discard();
    const next = client.producer({
      createPartitioner,
      transactionalId,
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: transactionTimeoutMs,
      allowAutoTopicCreation: false,
    });
    try {
      await next.connect();
      await sweep?.before();
      // Begin asks for the producer id, which ends a predecessor's transaction at once instead of
      // at its timeout.
      await (await next.transaction()).abort();
      await sweep?.after();
    } catch (error) {
      await disconnect(next);
      throw error;
    }
    producer = next;
  };

  /** Ends a transaction that failed; resolves when nothing of it can ever be seen. */
  const abort = async (transaction: KafkajsTransaction, cause: unknown, sent: boolean): Promise<void> => {
    try {
      // Without its id back in order, kafkajs' abort may be one in name only.
      if (classifyKafkaError(cause) === "producer-lost") throw cause;
      await transaction.abort();
      if (sent) await initialise();
    } catch {
      await discard();
      throw new TransactionOutcomeUnknown(cause);
    }
  };

  return {
    initialise,

    async transact(work) {
      if (producer === undefined) throw new TransactionOutcomeUnknown(new Error("the producer is not initialised"));
      let transaction: KafkajsTransaction;
      try {
        transaction = await producer.transaction();
      } catch (error) {
        await discard();
        throw new TransactionOutcomeUnknown(error);
      }
      let sent = false;
      try {
        if (work.offsets.length > 0) await sendOffsets(transaction, work);
        if (work.messages.length > 0) {
          sent = true;
          // By then the broker has ended the transaction, or is about to.
          const timeout = 2 * transactionTimeoutMs;
          await transaction.sendBatch({ acks: -1, timeout, topicMessages: groupByTopic(work.messages) });
        }
      } catch (error) {
        await abort(transaction, error, sent);
        throw new TransactionAborted(error, classifyKafkaError(error) === "fenced");
      }
      try {
        await transaction.commit();
      } catch (error) {
        await discard();
        throw new TransactionOutcomeUnknown(error);
      }
    },

    close: discard,
  };
}
