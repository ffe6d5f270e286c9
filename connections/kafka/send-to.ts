// A request of our own to a broker, as kafkajs sends its own.
import type { AddressedBroker, RawRequest } from "./kafkajs-internals.ts";

export type RequestedBroker = Pick<AddressedBroker, "connectionPool" | "disconnect">;

export async function sendTo<Answer>(broker: RequestedBroker, request: RawRequest<Answer>): Promise<Answer> {
  try {
    return (await broker.connectionPool.send(request)) as Answer;
  } catch (error) {
    // As kafkajs does it: the next request makes another connection.
    if ((error as Error).name === "KafkaJSConnectionClosedError") await broker.disconnect();
    throw error;
  }
}
