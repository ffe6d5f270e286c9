// precedent examples: the pool from the command line. Here import FILE: pairs of request and
// response, embedded and produced to the topic `examples`. The same pair gets the same id, so a
// repeated or broken-off import does no harm.
import { resolve } from "node:path";
import type { Command } from "commander";
import { embeddingToBytes } from "../algorithms/embedding.ts";
import { exampleBytes } from "../algorithms/example-bytes.ts";
import { exampleId, sharingDomain } from "../algorithms/identity.ts";
import { replacePersonalData } from "../algorithms/pii.ts";
import type { Config } from "../config/schema.ts";
import { createOnnxEmbedder } from "../connections/embedder/onnx.ts";
import type { Embedder } from "../connections/embedder/port.ts";
import { createLog } from "../runtime/log.ts";
import type { Example } from "../schemas/types.ts";
import { startProgress } from "../stack/progress.ts";
import { embedderOptions } from "./embedder-options.ts";
import { addReadingExamples } from "./examples-read.ts";
import { addRemovingExamples } from "./examples-remove.ts";
import { addShowingExamples } from "./examples-show.ts";
import { addReplayingExamples } from "./examples-replay.ts";
import { addSynthesizingExamples } from "./examples-synthesize.ts";
import type { Io } from "./io.ts";
import { configOf } from "./options.ts";
import { checkPairs, readPairs, type Pair } from "./pairs.ts";
import { openSession, type Session } from "../assembly/session.ts";

interface Options {
  tenant: string;
  domain?: string;
  asIs?: boolean;
}

/** Of like lengths among so many, batches for the model are made: padding is wasted work. */
const batchSize = 1_024;

export function addExamples(program: Command, io: Io): void {
  const examples = program.command("examples").description("the examples that help to answer");
  addReadingExamples(examples, io);
  addShowingExamples(examples, io);
  addRemovingExamples(examples, io);
  addReplayingExamples(examples, io);
  addSynthesizingExamples(examples, io);
  examples
    .command("import")
    .description('import pairs, one {"request", "response", "tenant"?, "domain"?, "quality"?} a line')
    .argument("<file>", "JSONL")
    .option("-t, --tenant <name>", "owner where a line names none", "default")
    .option("-d, --domain <name>", "sharing domain where a line names none")
    .option("--as-is", "keep names, e-mails, phones, cards, addresses and keys that stand in the texts")
    .action(async (name: string, options: Options, command: Command) => {
      const { config } = configOf(command, io);
      const log = createLog({ level: "warn" });
      const file = resolve(io.cwd, name);
      const total = await checkPairs(file);
      const session = await openSession(config, { log });
      const embedder = await createOnnxEmbedder({ ...embedderOptions(config, io), log }).catch(
        async (error: unknown) => {
          await session.close();
          throw error;
        },
      );
      const progress = startProgress("importing", total, "examples");
      try {
        const done = await importPairs({
          session,
          embedder,
          file,
          options,
          onProgress: progress.update,
          signal: io.signal,
        });
        progress.finish();
        io.out(`imported ${done} examples\n`);
      } finally {
        await Promise.allSettled([embedder.close(), session.close()]);
      }
    });
}

export interface ImportOptions {
  session: Pick<Session, "kafka" | "codec" | "config">;
  embedder: Embedder;
  file: string;
  options: Options;
  /** Pairs whose example has such an id are left out. */
  known?: ReadonlySet<string>;
  onProgress?: (done: number) => void;
  signal?: AbortSignal;
}

/**
 * Embeds and produces every pair of the file that is not known; returns how many. Each batch is in
 * the broker before the next is embedded.
 */
export async function importPairs({
  session,
  embedder,
  file,
  options,
  known,
  onProgress,
  signal,
}: ImportOptions): Promise<number> {
  const producer = session.kafka.plainProducer();
  let done = 0;
  try {
    for await (const batch of readPairs(file, batchSize)) {
      signal?.throwIfAborted();
      const kept = options.asIs === true ? batch : batch.map((pair) => withoutPersonalData(pair, session.config));
      const pairs = kept.filter((pair) => !(known?.has(pairId(pair, options)) ?? false));
      if (pairs.length === 0) continue;
      const vectors = await embedder.embedAll(
        pairs.map(({ request }) => request),
        (embedded) => onProgress?.(done + embedded),
      );
      const messages = pairs.map((pair, index) => {
        const example = toExample(pair, options, vectors[index] ?? new Float32Array(), embedder.model, Date.now());
        const value = session.codec.encode("examples", example);
        return { topic: `${session.config.kafka.prefix}examples`, key: `${example.domain}/${example.id}`, value };
      });
      await producer.send(messages);
      done += pairs.length;
      onProgress?.(done);
    }
  } finally {
    await producer.close();
  }
  return done;
}

/** The id that the pair's example gets. */
const pairId = (pair: Pair, options: Options): string =>
  exampleId(domainOf(pair, options), pair.request, pair.response);

const domainOf = (pair: Pair, options: Options): string =>
  sharingDomain(pair.tenant ?? options.tenant, pair.domain ?? options.domain ?? null);

/** As curate does before an example is kept. */
function withoutPersonalData(pair: Pair, config: Config): Pair {
  const [request = "", response = ""] = replacePersonalData(
    [pair.request, pair.response],
    config.curate.personalData,
  ).texts;
  return { ...pair, request, response };
}

export function toExample(
  pair: Pair,
  options: Options,
  vector: Float32Array,
  embeddingModel: string,
  now: number,
): Example {
  const tenant = pair.tenant ?? options.tenant;
  const domain = domainOf(pair, options);
  const embedding = embeddingToBytes(vector);
  return {
    id: exampleId(domain, pair.request, pair.response),
    tenant,
    domain,
    request: pair.request,
    response: pair.response,
    embedding,
    embeddingModel,
    source: { arm: "import", model: pair.model ?? "unknown", requestId: null },
    quality: pair.quality ?? 1,
    bytes: exampleBytes(pair.request, pair.response, embedding.length / Float32Array.BYTES_PER_ELEMENT),
    expiresAt: null,
    replays: 0,
    createdAt: now,
  };
}
