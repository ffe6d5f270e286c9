// Polls an engine's load every second while it is watched. Its answer is bounded in bytes and time.
// A report expires after 5 s.
import type { Dispatcher } from "undici";
import { partsOf, textOf } from "../../../connections/http/bodies.ts";
import { boundedFetch } from "../bounded-fetch.ts";
import { engineLoadOf, type EngineLoad } from "./engine-metrics.ts";

const everyMs = 1_000;
/** Reports older than this are not used. */
const staleMs = 5_000;
/** Longest back-off after failures: short enough to notice a recovery quickly. */
const mostWaitMs = 5_000;
const limitMs = 4_000;
/** Ten times the size of a report with many models. */
const mostBytes = 4 * 1_048_576;

export interface EngineReport {
  load: EngineLoad;
  /** Increases with every report. */
  version: number;
}

export type EngineWatch = ReturnType<typeof watchEngine>;

export interface EngineSource {
  url: string;
  headers: Record<string, string>;
  /** Replaces the ordinary connections by those to one address of the host. */
  dispatcher?: Dispatcher | undefined;
}

/** Rejects with the reason if no load can be read. */
export async function readEngineLoad({ url, headers, dispatcher }: EngineSource): Promise<EngineLoad> {
  const init = { headers, signal: AbortSignal.timeout(limitMs), ...(dispatcher && ({ dispatcher } as object)) };
  const response = await boundedFetch(url, init);
  const text = await textOf(partsOf(response.body), mostBytes);
  if (!response.ok) throw new Error(`status ${response.status}`);
  const load = engineLoadOf(text);
  if (load === undefined) throw new Error("it reports no queue of vLLM, SGLang, llama-server or TGI");
  return load;
}

/** Polls until stopped. `clock`: monotonic, in milliseconds. */
export function watchEngine(
  read: () => Promise<EngineLoad>,
  onChange: (problem: unknown) => void,
  clock: () => number = () => performance.now(),
) {
  let latest: (EngineReport & { at: number }) | undefined;
  let waitMs = everyMs;
  let isFailing = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function ask(): Promise<void> {
    let problem: unknown;
    try {
      // The age counts from the request.
      const at = clock();
      latest = { load: await read(), version: (latest?.version ?? 0) + 1, at };
    } catch (error) {
      problem = error;
    }
    if (isStopped) return;
    if (isFailing !== (problem !== undefined)) onChange(problem);
    isFailing = problem !== undefined;
    waitMs = isFailing ? Math.min(mostWaitMs, waitMs * 2) : everyMs;
    timer = setTimeout(() => void ask(), waitMs).unref();
  }
  void ask();

  return {
    /** The newest report; undefined: none in the last 5 s. */
    now: (): EngineReport | undefined => (latest !== undefined && clock() - latest.at < staleMs ? latest : undefined),
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
