// precedent examples: the pool; import FILE: pairs, embedded and produced to the topic `examples`.
// The same pair gets the same id, so repeats do no harm.
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Embedder } from "../connections/embedder/port.ts";
import { createLog } from "../runtime/log.ts";
import { startProgress } from "../stack/progress.ts";
import { embedderOptions } from "./embedder-options.ts";
import { addQuarantine } from "./examples-quarantine.ts";
import { addReadingExamples } from "./examples-read.ts";
import { addRemovingExamples } from "./examples-remove.ts";
import { addShowingExamples } from "./examples-show.ts";
import { addExampleReplay } from "./examples-replay.ts";
import { addSynthesizingExamples } from "./examples-synthesize.ts";
import { pairId, toExample, withoutPersonalData, type Owner } from "./imported-example.ts";
import type { Io } from "./io.ts";
import { checkPairs, readPairs, type Pair } from "./pairs.ts";
import { openEmbedder } from "../pipelines/embedder.ts";
import type { Session } from "../pipelines/session.ts";
import { runningConfig } from "./running-config.ts";
import { openRunning } from "./with-session.ts";

interface Options extends Owner {
  asIs?: boolean;
}

/** Pairs are batched by length among this many, because padding is wasted work. */
const pairsAtOnce = 1_024;
/** The model has more to do while some are being produced. */
const atOnce = 2;

export function addExamples(program: Command, io: Io): void {
  const examples = program.command("examples").description("the examples that help to answer");
  addReadingExamples(examples, io);
  addShowingExamples(examples, io);
  addRemovingExamples(examples, io);
  addQuarantine(examples, io);
  addExampleReplay(examples, io);
  addSynthesizingExamples(examples, io);
  examples
    .command("import")
    .description('import pairs, one {"request", "response", "tenant"?, "domain"?, "quality"?} a line')
    .argument("<file>", "JSONL")
    .option("-t, --tenant <name>", "owner where a line names none", "default")
    .option("-d, --domain <name>", "sharing domain where a line names none")
    .option("--as-is", "keep names, e-mails, phones, cards, addresses and keys that stand in the texts")
    .action(async (name: string, options: Options, command: Command) => {
      const config = runningConfig(command, io);
      const log = createLog({ level: "warn" });
      const file = resolve(io.cwd, name);
      const total = await checkPairs(file);
      const session = await openRunning(config, io, { start: true, level: "warn" });
      const embedder = await openEmbedder(config, { ...embedderOptions(config, io), log }).catch(
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

/** Produces every unknown pair of the file, in order; returns how many. */
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
  let [done, embedded] = [0, 0];
  let isOver = false;
  let sending: Promise<unknown> = Promise.resolve();
  const vectorsOf = (pairs: readonly Pair[]): Promise<Float32Array[]> =>
    embedder.embedAll(
      pairs.map(({ request }) => request),
      () => onProgress?.(++embedded),
    );
  async function produce(pairs: readonly Pair[], vectors: readonly Float32Array[]): Promise<void> {
    if (isOver) return;
    const messages = pairs.map((pair, index) => {
      const example = toExample(pair, options, vectors[index] ?? new Float32Array(), embedder.model, Date.now());
      const value = session.codec.encode("examples", example);
      return { topic: `${session.config.kafka.prefix}examples`, key: `${example.domain}/${example.id}`, value };
    });
    await (sending = producer.send(messages));
    done += pairs.length;
  }

  /** The last ones begun, each of which ends after those before it; at most `atOnce`. */
  const underWay: Promise<void>[] = [];
  try {
    for await (const batch of readPairs(file, pairsAtOnce)) {
      signal?.throwIfAborted();
      const kept = options.asIs === true ? batch : batch.map((pair) => withoutPersonalData(pair, session.config));
      const pairs = kept.filter((pair) => !(known?.has(pairId(pair, options)) ?? false));
      if (pairs.length === 0) continue;
      const [vectors, before] = [vectorsOf(pairs), underWay.at(-1)];
      const produced = Promise.all([vectors, before]).then(([all]) => produce(pairs, all));
      // Awaited below, maybe only after it failed.
      produced.catch(() => undefined);
      underWay.push(produced);
      if (underWay.length >= atOnce) await underWay.shift();
    }
    await underWay.at(-1);
  } finally {
    // What failed or was aborted is not waited for, but what is on its way to the broker.
    isOver = true;
    await sending.catch(() => undefined);
    await producer.close();
  }
  return done;
}
