// The examples as one process holds them: the embedder, the pool, and the topic that it follows.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { embeddingModelFolder } from "../config/assets.ts";
import { createOnnxEmbedder } from "../connections/embedder/onnx.ts";
import type { Embedder } from "../connections/embedder/port.ts";
import { createPool } from "../connections/pool/pool.ts";
import type { ExamplePool } from "../connections/pool/port.ts";
import { createVectorIndexes } from "../connections/vectors/create.ts";
import { followTable, type TableChange } from "../runtime/table.ts";
import type { Example } from "../schemas/types.ts";
import type { Session } from "./session.ts";

export interface HeldExamples {
  embedder: Embedder;
  pool: ExamplePool;
  /** Resolves when everything that was on the topic is in the pool. */
  caughtUp: Promise<void>;
  stop(): Promise<void>;
}

/** Rejects when the embedding model is not there. */
export async function holdExamples(session: Session, log: Session["log"]): Promise<HeldExamples> {
  const { config, kafka, codec } = session;
  const folder = config.embedder.model ?? embeddingModelFolder();
  const embedder = await createOnnxEmbedder({ ...config.embedder, folder, log });
  const store = await mkdtemp(join(tmpdir(), "precedent-examples-"));
  const pool = await createPool({
    folder: store,
    embedder,
    clusterId: await kafka.clusterId(),
    maxAgeMs: 86_400_000,
    openIndexes: () => createVectorIndexes(embedder.dimension, log),
    log,
  });
  const table = followTable({
    kafka,
    codec,
    log,
    topic: session.topic("examples"),
    record: "examples",
    apply: (changes) => applyExamples(pool, changes, log),
  });
  return {
    embedder,
    pool,
    caughtUp: table.caughtUp,
    async stop() {
      await table.stop();
      await pool.close();
      await Promise.all([embedder.close(), rm(store, { recursive: true, force: true })]);
    },
  };
}

async function applyExamples(
  pool: ExamplePool,
  changes: readonly TableChange<Example>[],
  log: Session["log"],
): Promise<void> {
  // A key may come several times in a batch: the last change counts.
  const latest = new Map(changes.map((change) => [change.key, change.value]));
  const gone = [...latest].flatMap(([key, value]) => (value === null ? [key.slice(key.lastIndexOf("/") + 1)] : []));
  const present = [...latest.values()].filter((value) => value !== null);
  await pool.remove(gone);
  for (const { id, reason } of await pool.upsert(present))
    log.warn({ example: id, reason }, "an example is left out of the pool");
}
