// What a Kafka error means for a stage. kafkajs mixes protocol errors, connection errors and
// wrapped ones: one place sorts them.
import { messageOf } from "../errors.ts";

/**
 * fenced: the group continues without this member, which must rejoin; producer-lost: the
 * transactional id was taken over or forgotten, so the producer must be initialised again;
 * retriable: the broker is away or busy; fatal: a bug or a refusal.
 */
export type KafkaErrorClass = "fenced" | "producer-lost" | "retriable" | "fatal";

const fencedTypes = new Set(["ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"]);
const producerLostTypes = new Set([
  "INVALID_PRODUCER_EPOCH",
  "PRODUCER_FENCED",
  "INVALID_PRODUCER_ID_MAPPING",
  "INVALID_TXN_STATE",
  "TRANSACTION_COORDINATOR_FENCED",
]);
const retriableNames = new Set([
  "KafkaJSConnectionError",
  "KafkaJSConnectionClosedError",
  "KafkaJSRequestTimeoutError",
  "KafkaJSNumberOfRetriesExceeded",
  "KafkaJSBrokerNotFound",
  "KafkaJSNoBrokerAvailableError",
  "KafkaJSMetadataNotLoaded",
  "KafkaJSTopicMetadataNotLoaded",
  "KafkaJSGroupCoordinatorNotFound",
  "KafkaJSLockTimeout",
]);

interface KafkaErrorShape {
  name?: string;
  type?: string;
  retriable?: boolean;
  cause?: unknown;
  originalError?: unknown;
}

/** Protocol error type of an error or of what it wraps, e.g. CONCURRENT_TRANSACTIONS. */
export function kafkaErrorType(error: unknown): string | undefined {
  for (let e = error as KafkaErrorShape | undefined, depth = 0; e && depth < 5; depth++) {
    if (typeof e.type === "string") return e.type;
    e = (e.originalError ?? e.cause) as KafkaErrorShape | undefined;
  }
  return undefined;
}

export function classifyKafkaError(error: unknown): KafkaErrorClass {
  const type = kafkaErrorType(error);
  if (type !== undefined && fencedTypes.has(type)) return "fenced";
  if (type !== undefined && producerLostTypes.has(type)) return "producer-lost";
  const shape = error as KafkaErrorShape | undefined;
  if (shape?.retriable === true || retriableNames.has(shape?.name ?? "")) return "retriable";
  return "fatal";
}

/** Whether another producer of the id, or the transaction's timeout, came between. */
export function isFencing(error: unknown): boolean {
  const type = kafkaErrorType(error);
  return type === "PRODUCER_FENCED" || type === "INVALID_PRODUCER_EPOCH";
}

/** A transaction that was rolled back: the same records may be sent again. */
export class TransactionAborted extends Error {
  override name = "TransactionAborted";
  constructor(
    override readonly cause: unknown,
    /** The member may not commit until it has joined again. */
    readonly fenced: boolean,
  ) {
    super(`transaction aborted: ${messageOf(cause)}`);
  }
}

/** EndTxn was not acknowledged: the outcome is unknown. Read the committed offsets. */
export class TransactionOutcomeUnknown extends Error {
  override name = "TransactionOutcomeUnknown";
  constructor(override readonly cause: unknown) {
    super(`outcome of the transaction unknown: ${messageOf(cause)}`);
  }
}

/**
 * A record names a partition that its topic does not have, by fresh metadata of the brokers. No
 * record of its batch was sent. A missing topic is another error, because it may be temporary.
 */
export class NoSuchPartition extends Error {
  override name = "NoSuchPartition";
  readonly type = "NO_SUCH_PARTITION";
  constructor(
    readonly missing: readonly { topic: string; partition: number }[],
    partitions: number,
  ) {
    const [first] = missing;
    super(
      `there is no partition ${first?.partition ?? -1} of ${first?.topic ?? ""}: it has ${partitions}; add partitions, or name one of these or none`,
    );
  }
}

/** Records of a partition that are more than any topic takes in a batch. None of them was sent. */
export class BatchTooLarge extends Error {
  override name = "BatchTooLarge";
  readonly type = "MESSAGE_TOO_LARGE";
  constructor(topic: string, partition: number, bytes: number, most: number) {
    super(`${topic}, partition ${partition}: a batch of ${bytes} bytes, and topics take ${most}`);
  }
}

/** Some records were not acknowledged in time; a transaction must be aborted then. */
export class SendIncomplete extends Error {
  override name = "SendIncomplete";
  readonly retriable = true;
  constructor(
    withinMs: number,
    waiting: readonly { topic: string; partition: number }[],
    override readonly cause: unknown,
  ) {
    const named = waiting.slice(0, 5).map(({ topic, partition }) => `${topic}/${partition}`);
    const where = named.length === 0 ? "" : ` (${waiting.length} partitions: ${named.join(", ")})`;
    const why = messageOf(cause);
    super(`not all records were acknowledged within ${withinMs} ms${where}: ${why}`);
  }
}
