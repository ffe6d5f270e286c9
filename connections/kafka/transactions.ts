// Queries coordinators and partitions about transactions, and ends transactions from outside. Every
// method rejects with a retriable error while a coordinator or a leader is away.
import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../../algorithms/queueing/backoff.ts";
import { classifyKafkaError } from "./errors.ts";
import { errorOfCode } from "./kafkajs-errors.ts";
import { groupPartition, type OpenTransaction, type Outcome } from "./open-transactions.ts";
import type { Reach } from "./port.ts";
import { describeProducers } from "./protocol/describe-producers.ts";
import { describeTransactions, type TransactionDescription } from "./protocol/describe-transactions.ts";
import { listTransactions } from "./protocol/list-transactions.ts";
import { writeTxnMarkers } from "./protocol/write-txn-markers.ts";
import { internalTopics, type PartitionLeader, type Wire } from "./wire.ts";
import { partitionsByTopic } from "./messages.ts";

export interface Unseen {
  topic: string;
  partition: number;
  why: "forbidden" | "no leader";
}

export interface Look {
  open: OpenTransaction[];
  /**
   * Partitions that can't be looked at. The offsets of a group that we may not even locate have
   * partition -1.
   */
  unseen: Unseen[];
}

export interface EndResult {
  transaction: OpenTransaction;
  /** Kafka's name of the refusal; undefined: it was ended. */
  refused: string | undefined;
}

export interface Transactions {
  /** Whether the cluster can be asked at all: Kafka 3.0 and newer. */
  available(): Promise<boolean>;
  /** undefined: the coordinator does not know the id, or we may not ask. */
  describe(transactionalId: string): Promise<TransactionDescription | undefined>;
  /** Transactions that are open in the topics' partitions and in the offsets of the groups. */
  look(reach: Reach): Promise<Look>;
  /** The same of these partitions alone. */
  lookAt(partitions: readonly PartitionRef[]): Promise<Look>;
  /** Transactional ids by producer id, of those that are known and that we may see. */
  holders(producerIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Writes a marker into the partition; needs ClusterAction. */
  end(transaction: OpenTransaction, outcome: Outcome): Promise<EndResult>;
  /**
   * Ends whatever the id's producer has open there by an empty transaction of its own; it must have
   * been initialised, and be idle.
   */
  endByOwn(transactionalId: string, where: Reach, partitions: readonly PartitionRef[], outcome: Outcome): Promise<void>;
}

interface PartitionRef {
  topic: string;
  partition: number;
}

const codes = { leaderNotAvailable: 5, notLeader: 6, topicForbidden: 29, idForbidden: 53, idNotFound: 105 };
const apiKeys = [61, 65, 66];
const completeWithinMs = 10_000;

export function createTransactions(wire: Wire): Transactions {
  const describe: Transactions["describe"] = async (transactionalId) => {
    const [found] = await wire.send(
      await wire.coordinator({ transactionalId }),
      describeTransactions([transactionalId]),
    );
    if (found === undefined || [codes.idNotFound, codes.idForbidden].includes(found.errorCode)) return undefined;
    if (found.errorCode !== 0) throw errorOfCode(found.errorCode);
    return found;
  };

  /** Partitions that the reach comes down to. */
  const partitions = async ({ topics, groups }: Reach): Promise<{ wanted: PartitionLeader[]; unknown: Unseen[] }> => {
    const leaders = await wire.leaders([
      ...new Set([...topics, ...(groups.length > 0 ? [internalTopics.offsets] : [])]),
    ]);
    const offsets = leaders.filter(({ topic }) => topic === internalTopics.offsets);
    const held = new Set(groups.map((group) => groupPartition(group, offsets.length || 1)));
    const hidden = groups.length > 0 && offsets.length === 0;
    return {
      wanted: leaders.filter(({ topic, partition }) => topic !== internalTopics.offsets || held.has(partition)),
      unknown: hidden ? [{ topic: internalTopics.offsets, partition: -1, why: "forbidden" }] : [],
    };
  };

  const ask = async (wanted: readonly PartitionLeader[]): Promise<Look> => {
    const look: Look = { open: [], unseen: [] };
    for (const { topic, partition, leader } of wanted)
      if (leader === undefined) look.unseen.push({ topic, partition, why: "no leader" });
    const nodes = new Set(wanted.flatMap(({ leader }) => (leader === undefined ? [] : [leader])));
    const answers = await Promise.all(
      [...nodes].map((node) =>
        wire.send(node, describeProducers(partitionsByTopic(wanted.filter((p) => p.leader === node)))),
      ),
    );
    for (const { topic, partition, errorCode, producers } of answers.flat()) {
      if (errorCode === codes.topicForbidden) look.unseen.push({ topic, partition, why: "forbidden" });
      else if (errorCode === codes.leaderNotAvailable || errorCode === codes.notLeader)
        look.unseen.push({ topic, partition, why: "no leader" });
      else if (errorCode !== 0) throw errorOfCode(errorCode);
      for (const state of producers) if (state.openSince >= 0) look.open.push({ topic, partition, ...state });
    }
    return look;
  };

  return {
    available: () => wire.speaks(apiKeys),
    describe,
    async look(reach) {
      const { wanted, unknown } = await partitions(reach);
      const { open, unseen } = await ask(wanted);
      return { open, unseen: [...unknown, ...unseen] };
    },
    async lookAt(partitions) {
      const leaders = await wire.leaders([...new Set(partitions.map(({ topic }) => topic))]);
      return ask(leaders.filter((l) => partitions.some((p) => p.topic === l.topic && p.partition === l.partition)));
    },
    async holders(producerIds) {
      const answers = await wire.everywhere(listTransactions(producerIds));
      for (const { errorCode } of answers) if (errorCode !== 0) throw errorOfCode(errorCode);
      return new Map(
        answers.flatMap(({ transactions }) =>
          transactions.map(({ producerId, transactionalId }) => [producerId, transactionalId] as const),
        ),
      );
    },
    async end(transaction, outcome) {
      const { topic, partition, producerId, epoch, coordinatorEpoch } = transaction;
      const leader = (await wire.leaders([topic])).find((p) => p.partition === partition)?.leader;
      if (leader === undefined) throw errorOfCode(codes.leaderNotAvailable);
      // As Kafka's own program: the last coordinator's epoch, which no older one may follow; 0
      // where no marker was written yet.
      const marker = { producerId, epoch, outcome, topic, partition, coordinatorEpoch: Math.max(0, coordinatorEpoch) };
      const [result] = await wire.send(leader, writeTxnMarkers([marker]));
      const code = result?.errorCode ?? 0;
      if (code === 0) return { transaction, refused: undefined };
      const error = errorOfCode(code);
      if (classifyKafkaError(error) === "retriable") throw error;
      return { transaction, refused: (error as { type?: string }).type ?? error.message };
    },
    async endByOwn(transactionalId, { groups }, partitions, outcome) {
      const known = await describe(transactionalId);
      if (known === undefined) return;
      const coordinator = await wire.coordinator({ transactionalId });
      const producer = { transactionalId, producerId: known.producerId, producerEpoch: known.epoch };
      const outputs = partitions.filter(({ topic }) => topic !== internalTopics.offsets);
      // No client may add a partition of __consumer_offsets by its name: the broker adds the one of
      // a group.
      if (outputs.length < partitions.length)
        for (const groupId of groups) await coordinator.addOffsetsToTxn({ ...producer, groupId });
      if (outputs.length > 0) await coordinator.addPartitionsToTxn({ ...producer, topics: partitionsByTopic(outputs) });
      await coordinator.endTxn({ ...producer, transactionResult: outcome === "commit" });
      const until = Date.now() + completeWithinMs;
      const waits = backoff({ first: 5, limit: 200 });
      for (;;) {
        if ((await describe(transactionalId))?.state.startsWith("Complete") === true) return;
        if (Date.now() > until) throw errorOfCode(codes.leaderNotAvailable);
        await sleep(waits.next());
      }
    },
  };
}
