// Requests of one arm with one thread, first come first served: from measured CPU times and Poisson
// arrivals to times until the first token. The queue is simulated, so that the load of the machine
// that measured does not count. Pure.
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import { mean, quantile } from "../../support/statistics.ts";

/** CPU milliseconds of one request. */
export interface Service {
  /** Until its first token, > 0. */
  firstMs: number;
  /** Until the whole answer, >= firstMs. */
  wholeMs: number;
}

export interface Queueing {
  /** Requests a CPU second, > 0. */
  rate: number;
  /** Length of one stream. */
  requests: number;
  /** Streams, each with arrivals of its own; the interval is over them. */
  streams: number;
  seed: number;
}

export interface Waited {
  /** From arrival to first token, the queue included: mean of the streams' means. */
  ttftMs: number;
  lowMs: number;
  highMs: number;
}

/** Each request is a random one of `services`. Other services get the same arrivals. */
export function firstTokens(services: readonly Service[], { rate, requests, streams, seed }: Queueing): Waited {
  const means = Array.from({ length: streams }, (_, stream) => {
    const random = splitmix64(seed + stream);
    let arrival = 0;
    let free = 0;
    let sum = 0;
    for (let i = 0; i < requests; i++) {
      arrival -= (Math.log(1 - random()) * 1_000) / rate;
      const { firstMs, wholeMs } = services[Math.floor(random() * services.length)]!;
      const begin = Math.max(arrival, free);
      sum += begin + firstMs - arrival;
      free = begin + wholeMs;
    }
    return sum / requests;
  });
  return { ttftMs: mean(means), lowMs: quantile(means, 0.025), highMs: quantile(means, 0.975) };
}
