// Examples in Milvus, as the active curate process writes and reads them. While it has the lock, it
// copies the topic into the collection. Its next search finds what it has published.
import { setTimeout as sleep } from "node:timers/promises";
import type { TopicFollower } from "../../connections/kafka/port.ts";
import { MilvusError } from "../../connections/milvus/port.ts";
import type { ExampleStore } from "../../operators/admit/admit.ts";
import { followPartitions } from "../../runtime/table.ts";
import { untilDone } from "../../runtime/until-done.ts";
import { withTimeout } from "../../runtime/with-timeout.ts";
import type { PoolChanges } from "../../state/examples/port.ts";
import { createPopular } from "../../state/examples/remote/popular.ts";
import { createSearch } from "../../state/examples/remote/read.ts";
import { exampleOf, keyOf } from "../../state/examples/remote/rows.ts";
import { openSink, type Sink } from "../../state/examples/remote/sink.ts";
import type { SessionOf } from "../../state/session.ts";
import { VectorError } from "../../state/vectors/port.ts";
import { openEmbedderAndCollection, topicIdentity } from "../remote-examples.ts";

export interface RemoteStore extends ExampleStore {
  pool: ExampleStore["pool"] & PoolChanges;
  /** Rejects with VectorError when the collection does not have what is on the topic in time. */
  restored(): Promise<void>;
  stop(): Promise<void>;
}

/** Intervals at which progress is saved: after changes, and without any. */
const saveEveryMs = 1_000;
const saveAtLeastMs = 30_000;
const callMs = 10_000;
const waits = { first: 200, limit: 10_000 };

interface Running {
  sink: Sink;
  follower: TopicFollower;
  partitions: readonly number[];
  save(): Promise<void>;
}

/** Rejects without the embedding model; waits for neither Milvus nor the broker. */
export async function keepRemoteExamples(
  session: SessionOf<{ tables: ["examples"] }>,
  { signal, log }: { signal: AbortSignal; log: SessionOf<object>["log"] },
): Promise<RemoteStore> {
  const { config, kafka, codec } = session;
  const topic = session.topic("examples");
  const { embedder, collection } = await openEmbedderAndCollection(config, log);
  const stopping = new AbortController();
  const ending = AbortSignal.any([signal, stopping.signal]);
  let isDirty = true;

  const retried = <T>(what: string, work: () => Promise<T>): Promise<T> =>
    untilDone(work, {
      ...{ waits, signal: ending },
      onFailure: (error, retryInMs) => log.warn({ err: error, retryInMs }, `${what}: tried again`),
    });

  async function start(): Promise<Running> {
    const { sink, spans } = await retried("examples can't be written to Milvus", async () => {
      const found = await kafka.spans(topic);
      const opened = await openSink({
        ...{ collection, embedder, topic: await topicIdentity(session), spans: found, clock: Date.now, log },
      });
      await opened.save();
      return { sink: opened, spans: found };
    });
    let isUnsaved = false;
    let savedAt = Date.now();
    const follower = followPartitions({
      ...{ kafka, codec, log, topic, record: "examples" as const },
      apply: (changes, { partition, next }) =>
        retried("changes of examples can't be written to Milvus", async () => {
          await sink.apply(partition, changes, next);
          isUnsaved = true;
        }),
      async onRewound(partition) {
        log.warn({ partition }, "the broker no longer knows the collection's position: the collection is rewritten");
        await retried("the progress in Milvus can't be reset", sink.forget);
        begin();
      },
    });
    const partitions = spans.map(({ partition }) => partition);
    for (const partition of partitions) {
      follower.follow(partition, sink.position(partition));
      follower.caughtUp(partition).then(
        () => {
          sink.filled(partition);
          isUnsaved = true;
        },
        () => undefined,
      );
    }
    return {
      ...{ sink, follower, partitions },
      async save() {
        if (!isUnsaved && Date.now() - savedAt < saveAtLeastMs) return;
        isUnsaved = false;
        savedAt = Date.now();
        await sink.save();
      },
    };
  }

  let running: Promise<Running>;
  function begin(): void {
    const former = running as Promise<Running> | undefined;
    running = Promise.resolve(former)
      .then((one) => one?.follower.stop())
      .then(start);
    running.catch(() => undefined);
  }
  running = start();
  running.catch(() => undefined);

  const saving = (async () => {
    while (!ending.aborted)
      try {
        await sleep(saveEveryMs, undefined, { signal: ending });
        const { save, partitions } = await running;
        await save();
        if ((await kafka.spans(topic)).length > partitions.length) begin();
      } catch (error) {
        if (!ending.aborted) log.warn({ err: error }, "how far Milvus is can't be written down yet");
      }
  })();

  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const done = await withTimeout(
      callMs,
      work.then((value) => ({ value })),
    );
    if (done !== undefined) return done.value;
    throw new VectorError("index_unavailable", `Milvus does not have the examples of the topic after ${callMs} ms`);
  };
  const asVectorError = (error: unknown): never => {
    if (error instanceof MilvusError) throw new VectorError("index_unavailable", error.message);
    throw error;
  };
  /** Everything that this process published before is in the collection. */
  async function caughtUp(): Promise<Running> {
    const now = await inTime(running);
    if (isDirty) {
      await inTime(Promise.all(now.partitions.map((partition) => now.follower.caughtUp(partition))));
      isDirty = false;
    }
    return now;
  }
  const search = createSearch({
    collection,
    popular: createPopular(),
    withdrawn: { has: () => false, size: () => 0, isComplete: () => true },
    limitMs: callMs,
    strong: true,
  });
  const changed = (): void => void (isDirty = true);
  return {
    embedder,
    pool: {
      async nearest(domain, vector, k, now) {
        const { sink } = await caughtUp();
        return search(domain, vector, k, { generation: sink.generation(), now }).catch(asVectorError);
      },
      async get(id, domain) {
        const { sink, partitions } = await caughtUp();
        const keys = partitions.map((partition) => keyOf(partition, `${domain}/${id}`));
        const rows = await collection.read(keys, { timeoutMs: callMs, strong: true }).catch(asVectorError);
        return rows.filter(({ generation }) => generation === sink.generation()).map(exampleOf)[0];
      },
      upsert: () => Promise.resolve([]).finally(changed),
      remove: () => Promise.resolve().finally(changed),
    },
    async restored() {
      await caughtUp();
    },
    async stop() {
      stopping.abort();
      const last = await running.catch(() => undefined);
      await last?.follower.stop();
      await saving;
      // Another process may have the lock: then it knows better.
      if (!signal.aborted) await last?.sink.save().catch(() => undefined);
      await collection.close();
      await embedder.close();
    },
  };
}
