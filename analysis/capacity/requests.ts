// What is sent through the queues on paper: requests with the arm that each goes to and what it is
// about there, of the log, of the log under another policy, or of a trace.
import { drawnService, type CallSize, type ServiceTimes } from "../../algorithms/queueing/arm-queues/service-times.ts";
import type { Workload } from "../../algorithms/queueing/arm-queues/simulate.ts";
import { drawIndex, type Random } from "../../algorithms/numeric/random.ts";

export interface Request extends CallSize {
  /** Milliseconds; requests are in the order of it. */
  arrival: number;
  /** Place in the list of arms. */
  arm: number;
}

/** What is known of an arm from the log. */
export interface ArmModel {
  times: ServiceTimes;
  /** Waits of requests that found it idle, milliseconds. */
  hops: Float64Array;
  /** Means of its calls. */
  mean: CallSize;
}

/** Requests with drawn times. Every request draws the same numbers, whatever its arm is. */
export function workloadOf(
  requests: readonly Request[],
  models: readonly (ArmModel | undefined)[],
  planMs: Float64Array,
  random: Random,
): Workload {
  const n = requests.length;
  const out: Workload = {
    ...{ arrival: new Float64Array(n), arm: new Int32Array(n), plan: new Float64Array(n), hop: new Float64Array(n) },
    ...{ first: new Float64Array(n), service: new Float64Array(n), pick: new Float64Array(n) },
  };
  for (const [i, request] of requests.entries()) {
    const { times, hops } = models[request.arm]!;
    const { firstMs, totalMs } = drawnService(times, request, random());
    out.arrival[i] = request.arrival;
    out.arm[i] = request.arm;
    out.first[i] = firstMs;
    out.service[i] = totalMs;
    out.plan[i] = planMs[Math.floor(random() * planMs.length)] ?? 0;
    out.hop[i] = hops[Math.floor(random() * hops.length)] ?? 0;
    out.pick[i] = random();
  }
  return out;
}

/**
 * A request at another arm: its tokens in the proportion of what calls of the two arms have on
 * average, because arms are shown other examples and answer at other lengths.
 */
export function moved<R extends Request>(request: R, to: number, models: readonly (ArmModel | undefined)[]): R {
  const [here, there] = [models[request.arm]?.mean, models[to]?.mean];
  if (request.arm === to || here === undefined || there === undefined) return { ...request, arm: to };
  const prompt =
    ratio(there.computed + there.reused, here.computed + here.reused) * (request.computed + request.reused);
  const completion = ratio(there.completion, here.completion) * request.completion;
  return { ...request, arm: to, completion, ...promptLike(there, prompt) };
}

/** So many tokens, of which as large a part comes from a cache as of these. */
export function promptLike(
  { computed, reused }: Pick<CallSize, "computed" | "reused">,
  tokens: number,
): Pick<CallSize, "computed" | "reused"> {
  const share = ratio(reused, computed + reused, 0);
  return { reused: share * tokens, computed: (1 - share) * tokens };
}

export function meanOf(calls: readonly CallSize[]): CallSize {
  const mean = (of: (call: CallSize) => number): number =>
    calls.reduce((sum, call) => sum + of(call), 0) / calls.length;
  return {
    computed: mean(({ computed }) => computed),
    reused: mean(({ reused }) => reused),
    completion: mean(({ completion }) => completion),
  };
}

const ratio = (above: number, below: number, otherwise = 1): number => (below > 0 ? above / below : otherwise);

/** A line of a trace: no texts, no arm. */
export interface Arrival {
  /** Milliseconds. */
  arrival: number;
  prompt: number;
  completion: number;
}

/** Requests of a trace, to arms by these shares. A prompt's cached part is that of the arm. */
export function requestsOf(
  trace: readonly Arrival[],
  shares: readonly number[],
  models: readonly (ArmModel | undefined)[],
  random: Random,
): Request[] {
  return trace.map(({ arrival, prompt, completion }) => {
    const arm = drawIndex(shares, random);
    return { arrival, arm, completion, ...promptLike(models[arm]?.mean ?? { computed: 1, reused: 0 }, prompt) };
  });
}
