// A broker answers at its configured address, and names another one for all further requests. Where
// that can't be reached, kafkajs' error looks like that of a broker that is away: here it says
// whose address it is.
import { internals, type PooledBroker } from "./kafkajs-internals.ts";

/** What to do about it is in security/errors.ts. */
export const advertisedAs = (addresses: readonly string[]): string => `the brokers advertise ${addresses.join(", ")}`;

/** Idempotent within a process because the module is loaded once. */
export function patchAdvertised(): void {
  const { prototype } = internals.BrokerPool;
  const { connectBroker: connect } = prototype;
  prototype.connectBroker = async function (this: object, broker: PooledBroker) {
    try {
      await connect.call(this, broker);
    } catch (error) {
      // Callers that share an attempt share its error.
      if (error instanceof internals.ConnectionError && !error.message.includes("advertise")) {
        const { host, port } = broker.connectionPool;
        error.message = `${error.message}: ${advertisedAs([`${host}:${port}`])}`;
      }
      throw error;
    }
  };
}
