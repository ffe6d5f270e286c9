// DescribeTransactions v0 (Kafka 3.0): what the coordinator has on record of a transactional id.
// Needs Describe on the id, which Write implies.
import { entries, flexible, strings, type Protocol } from "./codec.ts";

export interface TransactionDescription {
  errorCode: number;
  transactionalId: string;
  /**
   * Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead,
   * PrepareEpochFence.
   */
  state: string;
  timeoutMs: number;
  /** Milliseconds since the epoch; of a transaction that ended, too; -1 where there was none. */
  startedAt: number;
  producerId: string;
  epoch: number;
  /** That markers are still owed to: none once the transaction is complete. */
  partitions: { topic: string; partitions: number[] }[];
}

export const describeTransactions = (transactionalIds: readonly string[]): Protocol<TransactionDescription[]> =>
  flexible(
    { apiKey: 65, apiVersion: 0, apiName: "DescribeTransactions" },
    (body) => body.writeUVarIntArray(strings(transactionalIds)),
    (body) => {
      body.readInt32(); // throttle time
      return entries(body, (d): TransactionDescription => ({
        errorCode: d.readInt16(),
        transactionalId: d.readUVarIntString() ?? "",
        state: d.readUVarIntString() ?? "",
        timeoutMs: d.readInt32(),
        startedAt: Number(d.readInt64().toString()),
        producerId: d.readInt64().toString(),
        epoch: d.readInt16(),
        partitions: entries(d, (t) => ({
          topic: t.readUVarIntString() ?? "",
          partitions: t.readUVarIntArray((p) => p.readInt32()),
        })),
      }));
    },
  );
