// kafkajs asks one broker after the other for metadata and swallows their errors. When all fail it
// returns null. Its admin client and we would read that as metadata: a TypeError, which is fatal.
//
// kafkajs also shares a refresh that is in progress, and its answer replaces the known metadata. A
// topic that was added after the refresh started then has no partitions: reading its offsets fails
// with a TypeError, or returns none. So a refresh that lacks a topic is repeated, and an answer
// replaces only the topics in it.
import { advertisedAs } from "./kafkajs-advertised.ts";
import { internals, type DescribedCluster, type KnownMetadata } from "./kafkajs-internals.ts";

/** Idempotent within a process because the module is loaded once. */
export function patchMetadata(): void {
  const { prototype } = internals.Cluster;
  const { metadata: ask } = prototype;
  prototype.metadata = async function (this: DescribedCluster, question) {
    const metadata = await ask.call(this, question);
    if (metadata === null) {
      const known = Object.values(this.brokerPool.brokers).map(({ connectionPool: at }) => `${at.host}:${at.port}`);
      const where = known.length === 0 ? "" : `: ${advertisedAs(known)}`;
      throw new internals.ConnectionError(`no broker answers a request for metadata${where}`);
    }
    return metadata;
  };
  for (const name of ["refreshMetadata", "refreshMetadataIfNecessary"] as const) {
    const refresh = prototype[name];
    prototype[name] = async function (this: DescribedCluster) {
      const wanted = [...this.targetTopics];
      await refresh.call(this);
      const known = new Set(this.brokerPool.metadata?.topicMetadata.map(({ topic }) => topic));
      // The shared refresh started before these topics were added; the next one starts after.
      if (wanted.some((topic) => !known.has(topic))) await refresh.call(this);
    };
  }
  keepOtherTopics(internals.BrokerPool.prototype);
}

function keepOtherTopics(pool: object): void {
  const known = new WeakMap<object, KnownMetadata | null>();
  Object.defineProperty(pool, "metadata", {
    get(this: object) {
      return known.get(this) ?? null;
    },
    set(this: object, found: KnownMetadata | null) {
      const told = new Set(found?.topicMetadata.map(({ topic }) => topic));
      const others = known.get(this)?.topicMetadata.filter(({ topic }) => !told.has(topic)) ?? [];
      known.set(this, found && { ...found, topicMetadata: [...found.topicMetadata, ...others] });
    },
  });
}
