// What the gateway answers: how many requests, how, after how long, and how many it holds open. By
// route, of which there are few; a key or a tenant would be many.
import { Gauge, Histogram } from "prom-client";
import { oncePerRegistry, countersOf } from "../runtime/metrics/instruments.ts";

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

// To the first byte of nothing but the gateway itself, and to the last of a long stream.
const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** The same for the same registry: a gateway that is started again goes on counting. */
export const createGatewayMetrics = oncePerRegistry((registry) => {
  const registers = [registry];
  const counter = countersOf(registry);
  let waiting = (): number => 0;
  let unsent = (): number => 0;
  const answers = counter(
    "precedent_gateway_answers_total",
    "Requests of the API by route and HTTP status; gone: the client left before its answer was whole.",
    ["route", "status"],
  );
  const seconds = new Histogram({
    name: "precedent_gateway_seconds",
    help: "From a request of the API to the end of its answer, streams included.",
    labelNames: ["route"],
    buckets: secondsBuckets,
    registers,
  });
  new Gauge({
    name: "precedent_gateway_open",
    help: "Requests that hold one of the gateway's slots (gateway.maxOpen).",
    registers,
    collect() {
      this.set(waiting());
    },
  });
  new Gauge({
    name: "precedent_gateway_unsent_bytes",
    help: "Of answers that readers have not taken yet, of all connections together (gateway.maxUnsentBytes).",
    registers,
    collect() {
      this.set(unsent());
    },
  });
  const cuts = counter(
    "precedent_gateway_cut_readers_total",
    "Slow readers disconnected because all together left more than gateway.maxUnsentBytes unread.",
  );
  return {
    /** Says how many requests wait for their answer, and what is unsent of others, from now on. */
    holds(open: () => number, unsentBytes: () => number): void {
      waiting = open;
      unsent = unsentBytes;
    },
    /** A slow reader was disconnected, for all of them together held too much. */
    cut: (): void => cuts.inc(),
    /** status: of HTTP, or "gone" for a client that left before its answer was whole. */
    answered(route: string, status: number | "gone", ms: number): void {
      answers.inc({ route, status: String(status) });
      seconds.observe({ route }, ms / 1_000);
    },
  };
});
