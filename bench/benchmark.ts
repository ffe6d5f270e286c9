// What a benchmark is: a name, a sentence, and a run that gives figures. main.ts does the rest
// (table, JSON, result file).
import type { Checkpoints } from "./support/checkpoints.ts";
import type { Progress } from "../stack/progress.ts";

/**
 * Figures by name, as the specification names them. A figure that could not be measured is null,
 * and `reasons` says why.
 */
export type Figures = Record<string, unknown>;

export interface Measured {
  figures: Figures;
  /** Why a figure is null, by its name. */
  reasons?: Record<string, string>;
  /**
   * Where --only measured something else than the whole run does: what its result file is called
   * behind the benchmark's name.
   */
  part?: string;
}

export interface BenchContext {
  /** The same figures from less work, within 50 s on a machine that has run it before. */
  quick: boolean;
  /** --data: a file in place of the benchmark's own data. */
  data: string | undefined;
  /**
   * --only: the part of the systems compared that is measured, where a benchmark has such parts.
   */
  only?: string | undefined;
  /** --requests: how many are asked, where a benchmark lets that be said. */
  requests?: number | undefined;
  /** --model: a named model or a GGUF file, where a benchmark lets it be chosen. */
  model?: string | undefined;
  /** --device: as a llama arm's, where a benchmark lets it be chosen. */
  device?: string | undefined;
  /** --domains: tasks of a routing log are also sharing domains. */
  domains?: boolean | undefined;
  /** --profile: CPU profiles of the processes measured are kept. */
  profile: boolean;
  /** --keep-stack: the embedded servers stay up for the next run. */
  keepStack: boolean;
  /** What may be kept between runs lies here (embeddings, indexes); absolute, exists. */
  folder: string;
  /** Finished parts of a full run that was broken off; none in a quick run. */
  checkpoints: Checkpoints;
  progress(title: string, total: number, unit: string): Progress;
  /** A line for the reader, on standard error. */
  note(text: string): void;
  /** Aborted by Ctrl-C and SIGTERM. */
  signal: AbortSignal;
}

export interface Benchmark {
  name: string;
  about: string;
  /** What --only takes. */
  parts?: readonly string[];
  run(context: BenchContext): Promise<Measured>;
}
