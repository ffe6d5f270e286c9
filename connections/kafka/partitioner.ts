// The partition of a record: as it says, else by its key, as Kafka's own clients choose, else in
// turn. The hash of kafkajs makes several BigInts for every four bytes of a key, which was 4 % of a
// stage's CPU.
import type { ICustomPartitioner } from "kafkajs";
import { murmur2 } from "../../algorithms/numeric/murmur2.ts";
import { Partitioners } from "./kafkajs.ts";

/** `partitions`: how many the topic has, at least 1. */
export const partitionOf = (key: string | Uint8Array, partitions: number): number =>
  (murmur2(typeof key === "string" ? Buffer.from(key) : key) & 0x7fffffff) % partitions;

export const createPartitioner: ICustomPartitioner = () => {
  const inTurn = Partitioners.DefaultPartitioner();
  return (choice) => {
    const { partition, key } = choice.message;
    if (partition !== undefined) return partition;
    return key === null || key === undefined ? inTurn(choice) : partitionOf(key, choice.partitionMetadata.length);
  };
};
