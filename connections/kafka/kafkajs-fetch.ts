// kafkajs 2.2.4 reads an answer to Fetch with a decoder and several buffers for each record, which
// costs more than all else that its consumer does for a record. It checks no checksum, decompresses
// only gzip and that without a bound, and stops a whole consumer for one batch that it can't read.
// The version that it speaks with brokers from 2.3 on is read here (protocol/fetched.ts), and
// written in one pass.
import { internals } from "./kafkajs-internals.ts";
import { mostBatchBytes, mostOfAnswer } from "./limits.ts";
import { written } from "./protocol/codec.ts";
import { encodeFetch, type FetchBody } from "./protocol/fetch.ts";
import { decodeFetched } from "./protocol/fetched.ts";

interface Built {
  request: { apiVersion: number };
  response: { decode(raw: Buffer): Promise<unknown> };
}

const ourVersion = 11;
let turn = 0;

/** The offset that was asked for, of each partition. */
function wantedOf({ topics }: FetchBody): (topic: string, partition: number) => number {
  const offsets = new Map(
    topics.map(({ topic, partitions }) => [
      topic,
      new Map(partitions.map(({ partition, fetchOffset }) => [partition, Number(fetchOffset)])),
    ]),
  );
  return (topic, partition) => offsets.get(topic)?.get(partition) ?? 0;
}

/** Idempotent in what it does; the module is loaded once. */
export function patchFetch(): void {
  const fetch = internals.requests<FetchBody>("fetch");
  const original = fetch.protocol;
  fetch.protocol = (choice) => {
    const build = original(choice);
    return (options) => {
      const built = build(options) as Built;
      if (built.request.apiVersion !== ourVersion) return built;
      const { request, response } = built;
      const decode = (raw: Buffer): Promise<unknown> =>
        decodeFetched(raw, {
          wanted: wantedOf(options),
          budget: { ...mostOfAnswer, batch: mostBatchBytes },
          turn: turn++,
        });
      const encode = (): Promise<object> => Promise.resolve(written(encodeFetch(options)));
      return { ...built, request: { ...request, encode }, response: { ...response, decode } };
    };
  };
}
