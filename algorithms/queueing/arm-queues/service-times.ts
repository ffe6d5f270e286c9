// Service times of an arm from its logged calls: prefill ms a token (computed, cached), decode ms a
// token, a constant, and the spread. Without queueing.
import { fitLine, predicted, type Line } from "./robust-fit.ts";

export interface CallSize {
  computed: number;
  /** Tokens of the prompt from a KV cache: linked, or kept by the endpoint. */
  reused: number;
  completion: number;
}

export interface LoggedCall extends CallSize {
  /** null: not logged. */
  firstMs: number | null;
  totalMs: number;
}

export interface ServiceTimes {
  /** To the first token; null: none is logged, and it is held to come with the end. */
  first: Line | null;
  /** From the first token to the end, or the whole call; columns: computed, reused, completion. */
  rest: Line;
  /** Logged over predicted, of logged calls: pairs of the first token and the rest. */
  ratios: { first: Float64Array; rest: Float64Array };
}

const leastCalls = 20;
/** More calls than this fit no better. */
const mostFitted = 20_000;
const mostRatios = 2_000;
/** Where fewer calls have a first token, the whole is fitted. */
const leastFirst = 0.5;

/** null: fewer than leastCalls. */
export function fitServiceTimes(logged: readonly LoggedCall[]): ServiceTimes | null {
  const timed = logged.filter(({ firstMs }) => firstMs !== null);
  const split = timed.length >= Math.max(leastCalls, leastFirst * logged.length);
  const calls = thinned(split ? timed : logged, mostFitted);
  if (calls.length < leastCalls) return null;
  const column = (of: (call: LoggedCall) => number): Float64Array => Float64Array.from(calls, of);
  const [computed, reused, completion] = [
    column((call) => call.computed),
    column((call) => call.reused),
    column((call) => call.completion),
  ];
  const first = split
    ? fitLine(
        [computed, reused],
        column(({ firstMs }) => firstMs!),
      )
    : null;
  const after = column(({ firstMs, totalMs }) => Math.max(0, totalMs - (split ? firstMs! : 0)));
  const rest = split ? spread(fitLine([completion], after)) : fitLine([computed, reused, completion], after);
  const kept = thinned(calls, mostRatios);
  const ratios = {
    first: Float64Array.from(kept, (call) => (first === null ? 1 : call.firstMs! / predicted(first, prompt(call)))),
    rest: Float64Array.from(
      kept,
      (call) => Math.max(0, call.totalMs - (split ? call.firstMs! : 0)) / predicted(rest, sizes(call)),
    ),
  };
  return { first, rest, ratios };
}

const prompt = ({ computed, reused }: CallSize): number[] => [computed, reused];
const sizes = ({ computed, reused, completion }: CallSize): number[] => [computed, reused, completion];

/** A line of the answer's tokens as one of all three. */
const spread = ({ constant, slopes, floor }: Line): Line => ({
  ...{ constant, floor },
  slopes: [null, null, slopes[0] ?? null],
});

function thinned<T>(all: readonly T[], most: number): readonly T[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]!);
}

export interface Service {
  firstMs: number;
  totalMs: number;
}

/** Time of a call of this size, spread as the logged calls; at in [0, 1) says which of them. */
export function drawnService({ first, rest, ratios }: ServiceTimes, call: CallSize, at: number): Service {
  const i = Math.floor(at * ratios.rest.length);
  const firstMs = first === null ? 0 : predicted(first, prompt(call)) * ratios.first[i]!;
  const totalMs = firstMs + predicted(rest, sizes(call)) * ratios.rest[i]!;
  return { firstMs: first === null ? totalMs : firstMs, totalMs };
}
