// Which brokers lose transaction markers after an unclean restart (KAFKA-20734): a partition
// without a leader for a moment is taken for a deleted one, its marker is dropped, and the
// transaction hangs on it for good. 4.3.0, 4.3.1 and 4.4.0 do so (measured on 4.3.1: 11 stalls in
// 22 kills; on 4.2.0 and 4.2.2: none in 52). No release that is mended is known to us.
import { apiVersionsV3, type Feature } from "./api-versions.ts";
import { ask, type Cluster } from "./kafkajs-cluster.ts";

/** metadata.version of 4.3-IV0; 4.2 ends with 29. */
const firstAffected = 30;

export interface BrokerLevel {
  address: string;
  /** Highest metadata.version that it supports; undefined: it is too old to report one. */
  metadataVersion: number | undefined;
  losesMarkers: boolean;
}

export function levelOf(address: string, features: readonly Feature[]): BrokerLevel {
  const metadataVersion = features.find(({ name }) => name === "metadata.version")?.highest;
  return { address, metadataVersion, losesMarkers: metadataVersion !== undefined && metadataVersion >= firstAffected };
}

/** Asks every broker of the cluster; rejects when one does not answer. */
export async function brokerLevels(cluster: Cluster): Promise<BrokerLevel[]> {
  const brokers = await cluster.brokers();
  return Promise.all(
    brokers.map(async ({ address, broker }) => levelOf(address, (await ask(broker, apiVersionsV3)).supported)),
  );
}

export const lostMarkersRemedy =
  "use Kafka 4.2.x (the newest patch), or a release whose notes name KAFKA-20734 as fixed: patch releases cannot be told apart from outside";

/** What is wrong with these brokers, in a line; undefined: nothing that we know of. */
export function describeAffected(levels: readonly BrokerLevel[]): string | undefined {
  const affected = levels.filter(({ losesMarkers }) => losesMarkers).map(({ address }) => address);
  if (affected.length === 0) return undefined;
  return `${affected.join(", ")}: Kafka 4.3 or newer, which loses transaction markers after an unclean restart (KAFKA-20734): a partition may then stand still for good`;
}
