// Starts the whole system in this process: stack, history, stages. What can overlap does: each part
// begins when set-up has brought what it needs, the history is embedded while the servers start,
// the models load while the stages join their groups.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { openSession, type Session } from "../../pipelines/session.ts";
import { startStages } from "../../pipelines/up.ts";
import { importPairs } from "../../cli/examples.ts";
import { defaultModel, namedModel } from "../../config/models.ts";
import type { ArmConfig, Config } from "../../config/schema.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import type { SetUpParts } from "../setup/setup.ts";
import { stackStatus, stopStack } from "../../stack/attach.ts";
import { freeMemory } from "./free-memory.ts";
import { demoDomain, demoTenant, pairsFile, type SampleData } from "./sample-data.ts";
import type { Screen } from "./screen.ts";

export interface StartDependencies {
  config: Config;
  data: SampleData;
  screen: Screen;
  log: Logger;
  signal: AbortSignal;
  /** What set-up brings. */
  ready: SetUpParts;
}

export interface System {
  session: Session;
  /** Names of the stages that run. */
  stages: ReadonlySet<string>;
  /** All configured arms answer; at first only those whose models are there. */
  complete: Promise<void>;
  /** Stops the stages, and the stack unless it ran before. */
  stop(): Promise<void>;
}

/** Memory that a model takes, of its file: some weights are laid out again for the processor. */
const memoryPerByte = 2;

/** Rejects when something can't be started, and stops what it has started. */
export async function startSystem(dependencies: StartDependencies): Promise<System> {
  const { config, data, screen, log, signal, ready } = dependencies;
  const { folder } = config.stack;
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const { running } = await stackStatus(folder);
    const first = !existsSync(join(folder, "data"));
    if (!running) closers.push(() => stopStack(folder));

    // The first failure of the parallel tasks counts; the others are awaited, so that nothing
    // starts after the stop.
    const embedder = first ? embedHistory(dependencies) : Promise.resolve(undefined);
    const opening = ready.servers.then(() => {
      signal.throwIfAborted();
      return screen.task(
        "Kafka, schema registry, ClickHouse",
        openSession(config, { log, clientId: "demo" }),
        ({ connections }) => whereOf(connections, running),
      );
    });
    const [opened, embedded] = await Promise.allSettled([opening, embedder]);
    if (opened.status === "fulfilled") closers.push(() => opened.value.close());
    if (embedded.status === "fulfilled" && embedded.value !== undefined) closers.push(embedded.value.close);
    if (opened.status === "rejected") throw opened.reason;
    if (embedded.status === "rejected") throw embedded.reason;
    signal.throwIfAborted();
    const session = opened.value;

    await screen.task(
      `history of ${data.pairs.length} answered requests`,
      importHistory(session, dependencies, embedded.value),
      (count) => (count === 0 ? "there since an earlier run" : `${count} produced to ${session.topic("examples")}`),
    );
    signal.throwIfAborted();

    // The default arm answers first, and arms without a model of their own. So few examples are
    // searched exactly, whether FAISS is built yet or not.
    const all = session.arms.configured();
    const late = all.filter((arm) => arm.name !== config.routing.defaultArm && ready.models.has(modelNameOf(arm)));
    const early = all.filter((arm) => !late.includes(arm));
    await Promise.all([
      ready.llama,
      ready.embedding,
      ready.page,
      ...early.map((arm) => ready.models.get(modelNameOf(arm))),
    ]);
    signal.throwIfAborted();
    session.arms.replace(early);
    const starting = startStages(session);
    const stages = await screen.task(
      "stages",
      starting,
      ({ reports }) => `${Object.keys(reports()).sort().join(" · ")}, in this process`,
    );
    closers.push(stages.stop);
    signal.throwIfAborted();
    const complete = Promise.all(late.map((arm) => modelArrived(arm, ready.models))).then(async () => {
      if (late.length > 0 && !signal.aborted) await stages.replaceArms(all);
    });
    complete.catch(() => undefined);
    return { session, stages: new Set(Object.keys(stages.reports())), complete, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Rejects when its model can't be fetched, or is too large for the memory that is free. */
async function modelArrived(arm: ArmConfig, models: SetUpParts["models"]): Promise<void> {
  const name = modelNameOf(arm);
  await models.get(name);
  const needed = (namedModel(name)?.bytes ?? 0) * memoryPerByte;
  const free = freeMemory();
  if (free < needed)
    throw new Error(`its model needs about ${gigabytes(needed)} GB of memory, and ${gigabytes(free)} GB are free`);
}

const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(1);

/** Name in the registry of models; empty for an arm that uses none of it. */
const modelNameOf = (arm: ArmConfig): string =>
  (arm.type === "llama" ? namedModel(arm.model ?? defaultModel)?.name : undefined) ?? "";

const whereOf = ({ kafka, stack }: Session["connections"], running: boolean): string =>
  stack === undefined
    ? `${kafka.brokers.join(",")}, as configured`
    : `${kafka.brokers.join(",")}, ${running ? "found running" : "embedded"}`;

/** The embedder keeps the vectors by text: the import that follows finds them there. */
async function embedHistory({ config, data, screen, log, ready }: StartDependencies): Promise<Embedder> {
  const texts = data.pairs.map(({ request }) => request);
  await ready.embedding;
  const work = async (): Promise<Embedder> => {
    const embedder = await openEmbedder(config, { log });
    try {
      await embedder.embedAll(texts);
      return embedder;
    } catch (error) {
      await embedder.close();
      throw error;
    }
  };
  return screen.task(`${texts.length} requests embedded`, work(), ({ model }) => model);
}

/** Returns how many were missing. Evicted ones stay evicted. */
async function importHistory(
  session: Session,
  { config, data, log, signal, ready }: StartDependencies,
  embedder: Embedder | undefined,
): Promise<number> {
  const rows = await session.clickhouse.query<{ id: string }>("SELECT DISTINCT example_id AS id FROM examples");
  const known = new Set(rows.map(({ id }) => id));
  if (data.pairs.every(({ id }) => known.has(id))) return 0;
  await ready.embedding;
  const open = embedder ?? (await openEmbedder(config, { log }));
  try {
    const options = { tenant: demoTenant, domain: demoDomain };
    return await importPairs({ session, embedder: open, file: pairsFile, options, known, signal });
  } finally {
    if (embedder === undefined) await open.close();
  }
}
