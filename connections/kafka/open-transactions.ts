// Transactions that are open in a partition although their coordinator is done with them: a broker
// lost their markers (Kafka 4.3.0 and 4.3.1 do, KAFKA-20734), or a producer wrote to a partition
// that was not added to its transaction. They never end by themselves: offsets stay unstable, and
// read-committed readers stop in front of them. The outcome that the coordinator recorded says how
// to end them. Pure.
import type { ProducerState } from "./protocol/describe-producers.ts";
import type { TransactionDescription } from "./protocol/describe-transactions.ts";

export type Outcome = "commit" | "abort";

/** A producer's transaction as one partition has it. */
export interface OpenTransaction extends ProducerState {
  topic: string;
  partition: number;
}

export type RecordedTransaction = Pick<
  TransactionDescription,
  "state" | "producerId" | "epoch" | "startedAt" | "timeoutMs" | "partitions"
>;

/** Whether every marker of the id's last transaction was written, or is taken for written. */
export const isSettled = ({ state }: RecordedTransaction): boolean =>
  state === "Empty" || state === "Dead" || state.startsWith("Complete");

/** How far a producer's clock may be behind the coordinator's. */
const clockSlackMs = 60_000;

/** How the coordinator says that it ended; undefined: it has no record of it any more. */
export function recordedOutcome(
  { epoch, lastTimestamp }: Pick<OpenTransaction, "epoch" | "lastTimestamp">,
  recorded: RecordedTransaction,
): Outcome | undefined {
  const { state } = recorded;
  const outcome = state.endsWith("Commit") ? "commit" : state.endsWith("Abort") ? "abort" : undefined;
  if (epoch === recorded.epoch) return outcome;
  // The end may have raised the epoch: an abort at the timeout always does, and any end of a client
  // that speaks transaction version 2.
  if (epoch !== recorded.epoch - 1) return undefined;
  return outcome === "abort" || lastTimestamp >= recorded.startedAt - clockSlackMs ? outcome : undefined;
}

/** Whether the coordinator will end it: by its producer, timeout, or the leader's answer. */
export const isClaimed = (
  { topic, partition, epoch }: Pick<OpenTransaction, "topic" | "partition" | "epoch">,
  recorded: RecordedTransaction,
): boolean =>
  epoch >= recorded.epoch - 1 &&
  recorded.partitions.some((claimed) => claimed.topic === topic && claimed.partitions.includes(partition));

/** The partition of __consumer_offsets that holds a group: Java's hash of its name. */
export function groupPartition(group: string, partitions: number): number {
  let hash = 0;
  for (let i = 0; i < group.length; i++) hash = (Math.imul(31, hash) + group.charCodeAt(i)) | 0;
  return (hash === -2_147_483_648 ? 0 : Math.abs(hash)) % partitions;
}

/** What an administrator types; Kafka's own program can only abort. */
export const abortCommand = ({ topic, partition, openSince }: OpenTransaction, broker = "<broker>"): string =>
  `kafka-transactions.sh --bootstrap-server ${broker} abort --topic ${topic} --partition ${partition} --start-offset ${openSince}`;
