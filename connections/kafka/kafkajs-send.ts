// kafkajs 2.2.4 reports a send as successful although records are missing. It leaves out partitions
// that its metadata lacks. When a leader moves during a send, it leaves brokers that have answered
// out of the retry, together with the partitions that moved to them. Here every partition's records
// are sent until its leader has acknowledged them with an offset (unacknowledged.ts). Anything else
// is an error, and a transaction is aborted. A retry sends the same records under the same sequence
// number, so the broker of an idempotent producer drops duplicates. Numbers are never reused: after
// an error it is unknown which of them the brokers have counted, and a transactional producer
// starts a new epoch.
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../../algorithms/queueing/backoff.ts";
import { inTime } from "../in-time.ts";
import { classifyKafkaError, kafkaErrorType, NoSuchPartition, SendIncomplete } from "./errors.ts";
import { internals, replaceModule } from "./kafkajs-internals.ts";
import { byTopic, patchProduce, type Send, type SendDependencies } from "./kafkajs-produce.ts";
import { batchesOf, compare, inRequests, refuseMissing, type Batch, type PartitionResponse } from "./unacknowledged.ts";

const defaultTimeoutMs = 30_000;
/** A broker silent for so long is asked no longer; others may lead its partitions. */
const answerWithinMs = 10_000;
const waitMs = { first: 2, limit: 100 };
/** Looks for a partition that metadata lack: brokers learn of new ones late. */
const missing = { looks: 5, firstWaitMs: 50 };
const leaderNotAvailable = 5;
/** While one of these stands among the topics asked for, kafkajs gets no metadata at all. */
const topicIsAway = new Set(["UNKNOWN_TOPIC_OR_PARTITION", "INVALID_TOPIC_EXCEPTION", "TOPIC_AUTHORIZATION_FAILED"]);

const protocolError = (code: number, { topic, partition }: Batch): Error => {
  const error = internals.errors.createErrorFromCode(code);
  error.message = `${topic}, partition ${partition}: ${error.message}`;
  return error;
};
const doubtful = ({ topic, partition }: Batch): Error =>
  new Error(`${topic}, partition ${partition}: the broker's answer does not say where the records are`);

/** In place of kafkajs' sendMessages: resolves when all partitions are acknowledged. */
export function createSend({ logger, cluster, partitioner, eosManager }: SendDependencies) {
  let last: Promise<unknown> = Promise.resolve();

  async function sendAll({ acks, timeout = defaultTimeoutMs, compression, topicMessages }: Send) {
    if (acks === 0) throw new Error("acks: 0 can't be acknowledged: use -1");
    const topics = topicMessages.map(({ topic }) => topic);
    const end = performance.now() + timeout;
    const left = (): number => Math.max(1, Math.ceil(end - performance.now()));
    const done: (PartitionResponse & { topicName: string })[] = [];
    let pending: Set<Batch> | undefined;
    let looks = 0;

    const produce = async (nodeId: number, batches: readonly Batch[]): Promise<Error[]> => {
      const broker = await cluster.findBroker({ nodeId });
      const transactionalId = eosManager.isTransactional() ? eosManager.getTransactionalId() : undefined;
      // The caller has already got a failure: records sent now would be unexpected.
      if (performance.now() >= end) throw new Error("the time for this send is over");
      for (const batch of batches)
        if (batch.firstSequence === undefined) {
          batch.firstSequence = eosManager.getSequence(batch.topic, batch.partition);
          eosManager.updateSequence(batch.topic, batch.partition, batch.messages.length);
        }
      const request = {
        ...{ transactionalId, producerId: eosManager.getProducerId(), producerEpoch: eosManager.getProducerEpoch() },
        ...{ acks, timeout: left(), compression, topicData: byTopic(batches) },
      };
      const answer = eosManager.produce?.(broker, request) ?? broker.produce(request);
      const response = await limited(answer, Math.min(answerWithinMs, left()), `broker ${nodeId}`);
      const outcome = compare(batches, response);
      for (const [batch, answer] of outcome.acknowledged) {
        pending?.delete(batch);
        done.push({ topicName: batch.topic, ...answer });
      }
      return [
        ...outcome.doubtful.map(doubtful),
        ...outcome.refused.map(({ batch, errorCode }) => protocolError(errorCode, batch)),
      ];
    };

    const produceAll = async (nodeId: number, requests: readonly Batch[][]): Promise<Error[]> => {
      const errors: Error[] = [];
      for (const batches of requests) errors.push(...(await produce(nodeId, batches)));
      return errors;
    };

    /** One attempt for everything that is pending; throws what keeps it from being all. */
    const attempt = async (): Promise<void> => {
      await cluster.addMultipleTargetTopics(topics);
      await cluster.refreshMetadataIfNecessary();
      const metadata = new Map(topics.map((topic) => [topic, cluster.findTopicPartitionMetadata(topic)]));
      for (const [topic, partitions] of metadata)
        if (partitions.length === 0) throw protocolError(leaderNotAvailable, { topic, partition: 0, messages: [] });
      pending ??= new Set(
        batchesOf(topicMessages, (topic, message) =>
          Number(partitioner({ topic, message, partitionMetadata: metadata.get(topic) ?? [] })),
        ),
      );
      refuseMissing([...pending], (topic) => new Set(metadata.get(topic)?.map(({ partitionId }) => partitionId)));
      const errors: Error[] = [];
      const byLeader = new Map<number, Batch[]>();
      for (const batch of pending) {
        const leader =
          metadata.get(batch.topic)?.find(({ partitionId }) => partitionId === batch.partition)?.leader ?? -1;
        if (leader < 0) errors.push(protocolError(leaderNotAvailable, batch));
        else byLeader.set(leader, [...(byLeader.get(leader) ?? []), batch]);
      }
      const requests = [...byLeader].map(([nodeId, batches]) => ({ nodeId, all: inRequests(batches) }));
      if (eosManager.isTransactional())
        await eosManager.addPartitionsToTransaction(byTopic([...pending]), byLeader.size);
      const settled = await Promise.allSettled(requests.map(({ nodeId, all }) => produceAll(nodeId, all)));
      for (const one of settled)
        if (one.status === "fulfilled") errors.push(...one.value);
        else errors.push(one.reason as Error);
      const worst = errors.find((error) => classifyKafkaError(error) !== "retriable") ?? errors[0];
      if (worst !== undefined) throw worst;
      if (pending.size > 0) throw new Error("a partition was left out of a send: this is a bug");
    };

    /** Renews metadata and connections for another attempt; failing here fails that one. */
    const recover = async (error: unknown): Promise<void> => {
      const { name, host, port } = error as { name?: string; host?: string; port?: number };
      if (name === "KafkaJSConnectionClosedError" && host !== undefined && port !== undefined)
        cluster.removeBroker({ host, port });
      if (!cluster.isConnected()) await cluster.connect();
      await cluster.refreshMetadata().catch(async (cause: unknown) => {
        if (!topicIsAway.has(kafkaErrorType(cause) ?? "")) throw cause;
        cluster.targetTopics = new Set(topics);
        await cluster.refreshMetadata();
      });
    };

    const waits = backoff(waitMs);
    for (;;) {
      try {
        await limited(attempt(), left(), "the brokers");
        return done;
      } catch (error) {
        const wait = waits.next();
        const lacking = error instanceof NoSuchPartition;
        if (lacking ? ++looks > missing.looks : classifyKafkaError(error) !== "retriable") throw error;
        const pause = lacking ? missing.firstWaitMs * 2 ** (looks - 1) : wait;
        if (left() <= pause) throw new SendIncomplete(timeout, [...(pending ?? [])], error);
        logger.debug(`not everything was acknowledged, trying again: ${(error as Error).message}`, { wait: pause });
        await sleep(pause);
        await limited(recover(error), left(), "the brokers").catch((cause: unknown) =>
          logger.debug(`no new metadata: ${(cause as Error).message}`),
        );
      }
    }
  }

  /** An idempotent producer sends one batch after the other, by sequence numbers. */
  return (send: Send): ReturnType<typeof sendAll> => {
    if (!eosManager.isInitialized()) return sendAll(send);
    const next = last.then(() => sendAll(send));
    last = next.catch(() => undefined);
    return next;
  };
}

/** Rejects, to be retried, after `withinMs` without a result; a later result is ignored. */
const limited = <T>(work: Promise<T>, withinMs: number, who: string): Promise<T> =>
  inTime(withinMs, work, () => {
    const error = new Error(`${who} did not answer within ${withinMs} ms`);
    return Object.assign(error, { name: "KafkaJSRequestTimeoutError" });
  });

/** Before our own first use of kafkajs; others may have loaded it. */
export function patchSend(): void {
  replaceModule(createRequire(import.meta.url), "kafkajs/src/producer/sendMessages.js", createSend);
  patchProduce();
}
