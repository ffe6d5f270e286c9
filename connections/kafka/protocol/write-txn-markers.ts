// WriteTxnMarkers v1 (Kafka 2.8): ends a producer's open transaction in partitions that their
// leader is asked for, as the coordinator does it. Needs ClusterAction (or Alter) on the cluster.
import { entries, entry, flexible, int32s, type Protocol } from "./codec.ts";

export interface TransactionMarker {
  producerId: string;
  epoch: number;
  coordinatorEpoch: number;
  outcome: "commit" | "abort";
  topic: string;
  partition: number;
}

export interface MarkerResult {
  producerId: string;
  topic: string;
  partition: number;
  errorCode: number;
}

export const writeTxnMarkers = (markers: readonly TransactionMarker[]): Protocol<MarkerResult[]> =>
  flexible(
    { apiKey: 27, apiVersion: 1, apiName: "WriteTxnMarkers" },
    (body) =>
      body.writeUVarIntArray(
        markers.map(({ producerId, epoch, outcome, topic, partition, coordinatorEpoch }) =>
          entry((e) =>
            e
              .writeInt64(producerId)
              .writeInt16(epoch)
              .writeBoolean(outcome === "commit")
              .writeUVarIntArray([entry((t) => t.writeUVarIntString(topic).writeUVarIntArray(int32s([partition])))])
              .writeInt32(coordinatorEpoch),
          ),
        ),
      ),
    (body) =>
      entries(body, (d) => {
        const producerId = d.readInt64().toString();
        return entries(d, (t) => {
          const topic = t.readUVarIntString() ?? "";
          return entries(t, (p) => ({ producerId, topic, partition: p.readInt32(), errorCode: p.readInt16() }));
        }).flat();
      }).flat(),
  );
