// Replaces the state that kafkajs keeps per transactional producer (its "EOS manager"), for version
// 2 of Kafka's transactions (KIP-890). Partitions are not added to the transaction in advance:
// partition leaders and the group's coordinator add them on the first write. Every end of a
// transaction gives the producer another epoch, under which sequence numbers start from 0, so late
// records of an ended transaction are refused everywhere. Three round trips are left of five:
// offsets, records, end; four where records go to several brokers.
import { errorOfCode } from "./kafkajs-errors.ts";
import { txnOffsetCommit, type FencedTopics } from "./kafkajs-fencing.ts";
import { coordinatorTypes, type AddressedBroker, type CoordinatorQuestion } from "./kafkajs-internals.ts";
import type { Broker, EosManager } from "./kafkajs-produce.ts";
import { endTxn, type EndedTxn } from "./protocol/end-txn.ts";
import type { ProduceBody } from "./protocol/produce.ts";
import { flexibleProduce } from "./protocol/produce-flexible.ts";
import { sendTo, type RequestedBroker } from "./send-to.ts";
import { whileConcurrent } from "./while-concurrent.ts";

/** What a transactional producer of kafkajs asks of it. */
export interface TransactionalManager extends EosManager {
  initProducerId(): Promise<void>;
  beginTransaction(): void;
  isInTransaction(): boolean;
  sendOffsets(offsets: { consumerGroupId: string; topics: FencedTopics }): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

export interface CoordinatorFinder {
  findGroupCoordinator(question: CoordinatorQuestion): Promise<Coordinator>;
}

type Coordinator = RequestedBroker & Pick<AddressedBroker, "addPartitionsToTxn">;

export interface TwoOptions {
  cluster: CoordinatorFinder;
  transactionalId: string;
  /** As InitProducerId gave them. */
  producerId: string;
  producerEpoch: number;
}

/** Sequence numbers go on from 0 after the largest that there is. */
const sequenceNumbers = 2 ** 31;

export function createTransactionsTwo(options: TwoOptions): Omit<TransactionalManager, "initProducerId"> {
  const { cluster, transactionalId } = options;
  let { producerId, producerEpoch } = options;
  const sequences = new Map<string, number>();
  const partitionKey = (topic: string, partition: number): string => `${partition}/${topic}`;
  /** ending: permanent if it failed, because the right epoch is then unknown. */
  let state: "ready" | "open" | "ending" = "ready";
  /** Whether any broker may have been asked to take something into the transaction. */
  let touched = false;
  /** Partitions that were added at the coordinator before they were written to. */
  const added = new Set<string>();

  const coordinator = (groupId: string, coordinatorType: number): Promise<Coordinator> =>
    cluster.findGroupCoordinator({ groupId, coordinatorType });
  const mustBeOpen = (): void => {
    if (state !== "open") throw new Error(`no transaction is open: ${state}`);
  };

  const end = async (commit: boolean): Promise<void> => {
    mustBeOpen();
    state = "ending";
    if (touched) {
      const broker = await coordinator(transactionalId, coordinatorTypes.transaction);
      // The coordinator does not look at such a request before the one that it is busy with. It is
      // never repeated after any other failure, for the first one may have been carried out.
      const ended = await whileConcurrent(async (): Promise<EndedTxn> => {
        const answer = await sendTo(broker, endTxn({ transactionalId, producerId, producerEpoch, commit }));
        if (answer.errorCode !== 0) throw errorOfCode(answer.errorCode);
        return answer;
      });
      ({ producerId, producerEpoch } = ended);
      sequences.clear();
    }
    state = "ready";
  };

  return {
    isInitialized: () => true,
    isTransactional: () => true,
    isInTransaction: () => state === "open",
    getTransactionalId: () => transactionalId,
    getProducerId: () => producerId,
    getProducerEpoch: () => producerEpoch,
    getSequence: (topic, partition) => sequences.get(partitionKey(topic, partition)) ?? 0,
    updateSequence(topic, partition, increment) {
      const key = partitionKey(topic, partition);
      sequences.set(key, ((sequences.get(key) ?? 0) + increment) % sequenceNumbers);
    },
    beginTransaction() {
      if (state !== "ready") throw new Error(`no transaction can begin: ${state}`);
      state = "open";
      touched = false;
      added.clear();
    },
    /**
     * A leader adds its partitions itself. Several at once would find the coordinator busy with one
     * of them, and try again after 20 ms each: then all are added by one request as before, and the
     * leaders find that there is nothing to add.
     */
    async addPartitionsToTransaction(topicData, leaders) {
      mustBeOpen();
      if (leaders < 2) return;
      const topics = topicData
        .map(({ topic, partitions }) => ({
          topic,
          partitions: partitions.map(({ partition }) => partition).filter((id) => !added.has(partitionKey(topic, id))),
        }))
        .filter(({ partitions }) => partitions.length > 0);
      if (topics.length === 0) return;
      const broker = await coordinator(transactionalId, coordinatorTypes.transaction);
      touched = true;
      await broker.addPartitionsToTxn({ transactionalId, producerId, producerEpoch, topics });
      for (const { topic, partitions } of topics) for (const id of partitions) added.add(partitionKey(topic, id));
    },
    produce(broker: Broker, { topicData, ...request }: ProduceBody) {
      touched = true;
      return sendTo(broker as unknown as RequestedBroker, flexibleProduce({ ...request, topicData }));
    },
    async sendOffsets({ consumerGroupId, topics }) {
      mustBeOpen();
      const broker = await coordinator(consumerGroupId, coordinatorTypes.group);
      touched = true;
      const offsets = { transactionalId, groupId: consumerGroupId, producerId, producerEpoch, topics };
      await sendTo(broker, txnOffsetCommit(5, offsets));
    },
    commit: () => end(true),
    abort: () => end(false),
  };
}
