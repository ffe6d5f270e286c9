// ListTransactions v0 (Kafka 3.0): the transactional ids that a coordinator knows, here those of
// some producer ids. Every broker is asked; each answers for the ids it coordinates and that we may
// Describe.
import { entries, flexible, int64s, type Protocol } from "./codec.ts";

export interface ListedTransactions {
  errorCode: number;
  transactions: { transactionalId: string; producerId: string; state: string }[];
}

/** Lists the transactions of these producers, or of all if none is given. */
export const listTransactions = (producerIds: readonly string[]): Protocol<ListedTransactions> =>
  flexible(
    { apiKey: 66, apiVersion: 0, apiName: "ListTransactions" },
    (body) => body.writeUVarIntArray([]).writeUVarIntArray(int64s(producerIds)), // in any state
    (body) => {
      body.readInt32(); // throttle time
      const errorCode = body.readInt16();
      body.readUVarIntArray((d) => d.readUVarIntString()); // states that it does not know
      const transactions = entries(body, (d) => ({
        transactionalId: d.readUVarIntString() ?? "",
        producerId: d.readInt64().toString(),
        state: d.readUVarIntString() ?? "",
      }));
      return { errorCode, transactions };
    },
  );
