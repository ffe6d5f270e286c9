// Kafka as this project needs it: consumers, readers, producers and what is asked of the brokers
// are ports of their own. kafkajs stands behind them today; nothing above this folder knows.
import type { KafkaGroups, KafkaSafety, KafkaTopics } from "./admin-port.ts";
import type { KafkaConsumers } from "./consumer-port.ts";
import type { KafkaProducers } from "./producer-port.ts";
import type { KafkaReaders } from "./reader-port.ts";

export { mostMessageBytes } from "./record-port.ts";
export type * from "./admin-port.ts";
export type * from "./consumer-port.ts";
export type * from "./producer-port.ts";
export type * from "./reader-port.ts";
export type * from "./record-port.ts";

/**
 * One connection for a process. Consumed, Held, Sent: the topics that its user may consume in a
 * group, read whole, and send to; any by default. A stage is handed one for the topics that it
 * declares. What takes them is declared as functions, not methods: TypeScript compares methods
 * loosely, and a stage could pass its Kafka on as one for any topic.
 */
export interface Kafka<Consumed extends string = string, Held extends string = string, Sent extends string = string>
  extends KafkaConsumers<Consumed>, KafkaReaders<Held>, KafkaProducers<Sent>, KafkaTopics, KafkaGroups, KafkaSafety {
  close(): Promise<void>;
}
