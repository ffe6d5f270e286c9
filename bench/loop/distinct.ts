// Questions that are all different, so that each is embedded: the throughput of the loop with them
// beside that of the embedder alone, in turns: one worker, as plan has, and a worker for each core.
import { availableParallelism } from "node:os";
import { configSchema } from "../../config/schema.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { createLog } from "../../runtime/log.ts";
import type { Embedder } from "../../connections/embedder/port.ts";
import type { BenchContext } from "../benchmark.ts";
import { ownCpuSeconds } from "../support/processes.ts";
import { median, quantile, significant, spread } from "../support/statistics.ts";
import { cpuByProcess, ourCpuMs, type Stint } from "./figures.ts";
import type { RunStint } from "./stints.ts";
import type { RealLoop } from "./system.ts";

export interface DistinctPlan {
  rounds: number;
  /** Seconds of the loop, of the embedder alone, and of one request at a time. */
  seconds: { loop: number; embedder: number; one: number };
}

/** Embeddings by the embedder alone, 64 texts waiting. */
export interface Alone {
  texts: number;
  seconds: number;
  cpuSeconds: number;
}

export interface DistinctRounds {
  /** Taken in turns. */
  rounds: { loop: Stint; one: Alone; all: Alone }[];
  /** One in flight. */
  one: Stint;
  workers: number;
}

const inFlight = 64;
/** More than a machine of this size can answer. */
const mostPerSecond = 600;

export const distinctQuestions = ({ rounds, seconds }: DistinctPlan): number =>
  mostPerSecond * (rounds * seconds.loop + seconds.one);

export async function measureDistinct(
  { checkpoints }: Pick<BenchContext, "checkpoints">,
  plan: DistinctPlan,
  { real, run, questions }: { real: RealLoop; run: RunStint; questions: readonly string[] },
): Promise<DistinctRounds> {
  const { embedder: settings } = configSchema.parse({ arms: [{ name: "none", type: "llama" }] });
  const workers = Math.max(1, Math.floor(availableParallelism() / settings.threads));
  const log = createLog({ level: "warn" });
  const open = (count: number): Promise<Embedder> =>
    openEmbedder({ embedder: { ...settings, cacheEntries: 0 } }, { log, workers: count });
  const embedders = { one: await open(1), all: await open(workers) };
  const alone = async (embedder: Embedder, seconds: number): Promise<Alone> => {
    const [began, cpu] = [performance.now(), ownCpuSeconds()];
    let texts = 0;
    const lane = async (first: number): Promise<void> => {
      for (let i = first; performance.now() - began < 1_000 * seconds; i += inFlight, texts++)
        await embedder.embed(questions[i % questions.length]!);
    };
    await Promise.all(Array.from({ length: inFlight }, (_, i) => lane(i)));
    return { texts, seconds: (performance.now() - began) / 1_000, cpuSeconds: ownCpuSeconds() - cpu };
  };
  try {
    for (const embedder of Object.values(embedders)) await alone(embedder, plan.seconds.embedder / 4);
    const rounds: DistinctRounds["rounds"] = [];
    for (let round = 0; round < plan.rounds; round++)
      rounds.push(
        await checkpoints.part(`distinct, round ${round}`, async () => ({
          loop: await run({ inFlight, seconds: plan.seconds.loop, next: real.nextDistinct }),
          one: await alone(embedders.one, plan.seconds.embedder),
          all: await alone(embedders.all, plan.seconds.embedder),
        })),
      );
    const one = await checkpoints.part("distinct, one in flight", () =>
      run({ inFlight: 1, seconds: plan.seconds.one, next: real.nextDistinct }),
    );
    return { rounds, one, workers };
  } finally {
    await Promise.all(Object.values(embedders).map((embedder) => embedder.close()));
  }
}

export function distinctFigures({ rounds, one, workers }: DistinctRounds): Record<string, unknown> {
  const throughput = ({ loop }: { loop: Stint }): number => loop.requests / loop.seconds;
  const allows = ({ texts, seconds }: Alone): number => texts / seconds;
  const alone = (which: "one" | "all") => ({
    throughput_per_s: significant(median(rounds.map((round) => allows(round[which])))),
    throughput_per_s_range: range(rounds.map((round) => allows(round[which]))),
    cpu_ms_per_text: significant(
      median(rounds.map(({ [which]: { cpuSeconds, texts } }) => (1_000 * cpuSeconds) / texts)),
    ),
  });
  const ratios = (which: "one" | "all"): number[] => rounds.map((round) => throughput(round) / allows(round[which]));
  const range = (values: readonly number[]): [number, number] => {
    const { minimum, maximum } = spread(values);
    return [significant(minimum), significant(maximum)];
  };
  const loops = rounds.map(({ loop }) => loop);
  const latencies = loops.flatMap((loop) => loop.latencies);
  return {
    distinct: {
      throughput_per_s: significant(median(rounds.map(throughput))),
      throughput_per_s_range: range(rounds.map(throughput)),
      cpu_ms_per_request: significant(median(loops.map(ourCpuMs))),
      cpu_ms_by_process: cpuByProcess(loops),
      p50_ms_1: significant(median(one.latencies)),
      p50_ms_64: significant(median(latencies)),
      p99_ms_64: significant(quantile(latencies, 0.99)),
      questions: latencies.length + one.latencies.length,
      embedder: { workers, ...alone("all") },
      embedder_one: alone("one"),
    },
    distinct_ratio: significant(median(ratios("all"))),
    distinct_ratio_range: range(ratios("all")),
    distinct_ratio_one: significant(median(ratios("one"))),
    distinct_ratio_one_range: range(ratios("one")),
  };
}
