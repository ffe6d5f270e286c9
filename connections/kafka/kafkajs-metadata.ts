// kafkajs asks one broker after the other for metadata and swallows their errors. When all
// fail it returns null, which its admin client and we would read as metadata: a TypeError, which is
// fatal.
//
// Callers of a client share a refresh that is under way, and its answer replaces what is known. One
// that began before a topic was asked for then leaves that topic without partitions: its offsets
// fail with a TypeError, or are none. So a refresh that lacks a topic is repeated, and an answer
// keeps what is known of topics that it is not about.
import { internals, type DescribedCluster, type KnownMetadata } from "./kafkajs-internals.ts";

/** Idempotent within a process because the module is loaded once. */
export function patchMetadata(): void {
  const { prototype } = internals.Cluster;
  const { metadata: ask } = prototype;
  prototype.metadata = async function (this: DescribedCluster, question) {
    const metadata = await ask.call(this, question);
    if (metadata === null) throw new internals.ConnectionError("no broker answers a request for metadata");
    return metadata;
  };
  for (const name of ["refreshMetadata", "refreshMetadataIfNecessary"] as const) {
    const refresh = prototype[name];
    prototype[name] = async function (this: DescribedCluster) {
      const wanted = [...this.targetTopics];
      await refresh.call(this);
      const known = new Set(this.brokerPool.metadata?.topicMetadata.map(({ topic }) => topic));
      // The next one begins after the topics were asked for, whoever shares it.
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
