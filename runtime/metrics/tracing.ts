// Spans of traces: how many were exported, and how many lost.
import type { Registry } from "prom-client";
import { countersOf } from "./instruments.ts";

export function createTracingMetrics(registry: Registry) {
  const spans = countersOf(registry)(
    "precedent_trace_spans_total",
    "Spans of traces by what became of them: exported, or lost, because the collector was away or too slow.",
    ["result"],
  );
  const count = (result: string) => {
    spans.inc({ result }, 0);
    return (number: number): void => spans.inc({ result }, number);
  };
  return { exported: count("exported"), lost: count("lost") };
}
