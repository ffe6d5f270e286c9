// Questions that are all different, so that each is embedded: the throughput of the loop with them
// beside that of the embedder alone, a worker for each core, in turns.
import { availableParallelism } from "node:os";
import { configSchema } from "../../config/schema.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { createLog } from "../../runtime/log.ts";
import type { BenchContext } from "../benchmark.ts";
import { ownCpuSeconds } from "../support/processes.ts";
import { median, quantile, significant, spread } from "../support/statistics.ts";
import { cpuByProcess, ourCpuMs, type Stint } from "./figures.ts";
import type { RunStint } from "./stints.ts";
import type { RealLoop } from "./system.ts";

export interface DistinctPlan {
  rounds: number;
  /** Of the loop, of the embedder alone, and of one request at a time. */
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
  rounds: { loop: Stint; embedder: Alone }[];
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
  const embedder = await openEmbedder({ embedder: { ...settings, cacheEntries: 0 } }, { log, workers });
  const alone = async (seconds: number): Promise<Alone> => {
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
    await alone(plan.seconds.embedder / 4);
    const rounds: DistinctRounds["rounds"] = [];
    for (let round = 0; round < plan.rounds; round++)
      rounds.push(
        await checkpoints.part(`distinct, round ${round}`, async () => ({
          loop: await run({ inFlight, seconds: plan.seconds.loop, next: real.nextDistinct }),
          embedder: await alone(plan.seconds.embedder),
        })),
      );
    const one = await checkpoints.part("distinct, one in flight", () =>
      run({ inFlight: 1, seconds: plan.seconds.one, next: real.nextDistinct }),
    );
    return { rounds, one, workers };
  } finally {
    await embedder.close();
  }
}

export function distinctFigures({ rounds, one, workers }: DistinctRounds): Record<string, unknown> {
  const throughput = ({ loop }: { loop: Stint }): number => loop.requests / loop.seconds;
  const allows = ({ embedder }: { embedder: Alone }): number => embedder.texts / embedder.seconds;
  const ratios = rounds.map((round) => throughput(round) / allows(round));
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
      embedder: {
        workers,
        throughput_per_s: significant(median(rounds.map(allows))),
        throughput_per_s_range: range(rounds.map(allows)),
        cpu_ms_per_text: significant(
          median(rounds.map(({ embedder: { cpuSeconds, texts } }) => (1e3 * cpuSeconds) / texts)),
        ),
      },
    },
    distinct_ratio: significant(median(ratios)),
    distinct_ratio_range: range(ratios),
  };
}
