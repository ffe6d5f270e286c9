// bench -- stage: an exactly-once stage that does nothing, ours beside Kafka Streams and a plain
// loop of kafkajs, on one broker, in turns. Records of 1 kB; what came out is compared with what
// went in.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createKafkaClient } from "../../connections/kafka/client.ts";
import { createKafka } from "../../connections/kafka/kafka.ts";
import { untilReachable } from "../../connections/kafka/retry.ts";
import { configSchema } from "../../config/schema.ts";
import { createLog } from "../../runtime/log.ts";
import type { BenchContext, Benchmark, Measured } from "../benchmark.ts";
import { onStack, serverPids } from "../support/stack.ts";
import { cpuSeconds, cpuSecondsOfTree } from "../support/processes.ts";
import { checkOutput } from "./check.ts";
import { figuresOf, sustained, type Stage } from "./figures.ts";
import { runBacklog, runPace, type Source } from "./load.ts";
import { buildStreams } from "./streams.ts";
import { startSystem, systemNames, type System, type SystemName } from "./systems.ts";

interface Plan {
  /** Records that each stage takes before it is measured: the compilers see all of the code. */
  warmUp: number;
  rounds: number;
  records: number;
  /** Seconds of a pace, and how often. */
  pace: { seconds: number; rounds: number };
}

const quick: Plan = { warmUp: 15_000, rounds: 2, records: 15_000, pace: { seconds: 1.5, rounds: 1 } };
const full: Plan = { warmUp: 50_000, rounds: 2, records: 50_000, pace: { seconds: 6, rounds: 1 } };
/** Records a second, from the one asked for down to what all sustain. */
const rates = [5_000, 2_500, 1_000, 500];

export const stage: Benchmark = {
  name: "stage",
  about: "an empty exactly-once stage: ours, Kafka Streams, plain kafkajs",
  run,
};

async function run(context: BenchContext): Promise<Measured> {
  const streams = await buildStreams(context.folder, context.note);
  return onStack(context, join(context.folder, "..", "stack"), ({ folder, brokers }) =>
    onBrokers(context, { folder, brokers, streams }),
  );
}

async function onBrokers(
  context: BenchContext,
  {
    folder,
    brokers,
    streams,
  }: { folder: string; brokers: string[]; streams: Awaited<ReturnType<typeof buildStreams>> },
): Promise<Measured> {
  const log = createLog({ level: "warn" });
  const { kafka: settings } = configSchema.parse({ arms: [{ name: "none", type: "llama" }] });
  const connection = { brokers, clientId: "driver", config: settings, log };
  const [kafka, client] = [createKafka(connection), createKafkaClient(connection)];
  const systems: System[] = [];
  try {
    const prefix = `stage_${randomBytes(4).toString("hex")}`;
    const admin = client.admin();
    await admin.connect();
    const topics = systemNames.flatMap((name) => [`${prefix}.${name}.in`, `${prefix}.${name}.out`]);
    await admin.createTopics({
      waitForLeaders: false,
      topics: topics.map((topic) => ({ topic, numPartitions: settings.partitions })),
    });
    for (const topic of topics) await untilReachable(() => admin.fetchTopicOffsets(topic), { log, topic });
    await admin.disconnect();
    for (const name of systemNames) systems.push(await startSystem(name, context, { brokers, prefix, streams }));
    const broker = (await serverPids(folder))["kafka"] ?? 0;
    return await measure(
      context,
      { kafka, client, partitions: settings.partitions, signal: context.signal },
      { systems, broker },
    );
  } finally {
    await Promise.all(systems.map(({ child }) => child.stop()));
    await kafka.close();
  }
}

async function measure(
  context: BenchContext,
  source: Source,
  { systems, broker }: { systems: readonly System[]; broker: number },
): Promise<Measured> {
  const plan = context.quick ? quick : full;
  const stages: Record<SystemName, Stage> = {
    ours: { turns: [], paces: [] },
    streams: { turns: [], paces: [] },
    plain: { turns: [], paces: [] },
  };
  const sent: Record<SystemName, number> = { ours: 0, streams: 0, plain: 0 };
  /** Ids go on: those of the records from here on. */
  const take = (name: SystemName, records: number): number => (sent[name] += records) - records;
  const cpu = ({ child }: System) => ({
    stage: Object.values(cpuSecondsOfTree(child.pid)).reduce((sum, seconds) => sum + seconds, 0),
    broker: cpuSeconds(broker),
  });
  const since = (system: System, before: ReturnType<typeof cpu>) => {
    const now = cpu(system);
    return { stage: now.stage - before.stage, broker: now.broker - before.broker };
  };
  const backlog = async (system: System, records: number) => {
    let before = cpu(system);
    const from = take(system.name, records);
    const { seconds } = await runBacklog(source, system, { from, records }, () => (before = cpu(system)));
    return { records, seconds, cpuSeconds: since(system, before) };
  };

  const bar = context.progress("measuring", (plan.rounds + 1) * systems.length, "turns");
  for (const system of systems) {
    await backlog(system, plan.warmUp);
    bar.update(systems.indexOf(system) + 1);
  }
  for (let round = 0; round < plan.rounds; round++)
    for (const system of systems) {
      stages[system.name].turns.push(await backlog(system, plan.records));
      bar.update((round + 1) * systems.length + systems.indexOf(system) + 1);
    }
  bar.finish();

  const pace = async (system: System, rate: number, seconds: number): Promise<number[]> => {
    const from = take(system.name, Math.round(rate * seconds));
    const before = cpu(system);
    const { latencies } = await runPace(source, system, { from, rate, seconds });
    stages[system.name].paces.push({ rate, latencies, cpuSeconds: since(system, before) });
    return latencies;
  };
  let reached: number | undefined;
  for (const rate of rates) {
    context.note(`${rate} records a second`);
    let all = true;
    for (let round = 0; all && round < plan.pace.rounds; round++)
      for (const system of systems)
        if (!sustained(await pace(system, rate, plan.pace.seconds))) {
          context.note(`${system.name} does not sustain ${rate} records a second`);
          all = false;
          break;
        }
    if (all) {
      reached = rate;
      break;
    }
  }

  context.note("comparing what came out with what went in");
  const outcomes: Partial<Record<SystemName, unknown>> = {};
  for (const { name, output } of systems) {
    const outcome = await checkOutput(source.kafka, output, sent[name]);
    outcomes[name] = outcome;
    if (outcome.lost > 0 || outcome.doubled > 0)
      context.note(`${name}: ${outcome.lost} records lost, ${outcome.doubled} doubled`);
  }
  const measured = figuresOf(stages, reached);
  return { ...measured, figures: { ...measured.figures, outcomes } };
}
