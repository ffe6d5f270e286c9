// EndTxn, version 5 (KIP-890): every end of a transaction gives the producer another epoch, and
// when epochs run out, another id. The producer must use them from then on.
import { flexible, type Protocol, type Throttled } from "./codec.ts";

export interface EndTxn {
  transactionalId: string;
  producerId: string;
  producerEpoch: number;
  commit: boolean;
}

export interface EndedTxn extends Throttled {
  errorCode: number;
  /** -1 where it was refused. */
  producerId: string;
  producerEpoch: number;
}

export const endTxn = ({ transactionalId, producerId, producerEpoch, commit }: EndTxn): Protocol<EndedTxn> =>
  flexible(
    { apiKey: 26, apiVersion: 5, apiName: "EndTxn" },
    (body) =>
      body.writeUVarIntString(transactionalId).writeInt64(producerId).writeInt16(producerEpoch).writeBoolean(commit),
    (answer) => {
      return {
        clientSideThrottleTime: answer.readInt32(),
        errorCode: answer.readInt16(),
        producerId: answer.readInt64().toString(),
        producerEpoch: answer.readInt16(),
      };
    },
  );
