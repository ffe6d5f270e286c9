// kafkajs asks one broker after the other for metadata and swallows their errors. When all
// fail it returns null, which its admin client and we would read as metadata: a TypeError, which is
// fatal.
import { internals, type DescribedCluster } from "./kafkajs-internals.ts";

/** Idempotent within a process because the module is loaded once. */
export function patchMetadata(): void {
  const { prototype } = internals.Cluster;
  const { metadata: ask } = prototype;
  prototype.metadata = async function (this: DescribedCluster, question) {
    const metadata = await ask.call(this, question);
    if (metadata === null) throw new internals.ConnectionError("no broker answers a request for metadata");
    return metadata;
  };
}
