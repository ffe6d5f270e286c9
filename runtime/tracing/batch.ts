// record in traces: a span for each traced record, from its batch until its rows are stored.
import type { Span, Tracing } from "../../connections/tracing/port.ts";
import type { Batch, SinkDependencies } from "../rows.ts";

export function traceBatch(
  batch: Batch,
  tracing: Tracing,
  { stage, group }: { stage: string; group: string },
): Pick<SinkDependencies, "batch" | "onStored"> {
  let gathered: Span[] = [];
  let underWay: Span[] = [];
  return {
    batch: {
      ...batch,
      add(source, tables) {
        batch.add(source, tables);
        const { topic, partition, record } = source;
        if (record.headers["traceparent"] === undefined) return;
        const facts = { topic, partition, offset: record.offset, group, stage };
        const span = tracing.follow(record.headers, { name: `process ${topic}`, kind: "process", facts });
        if (span.isRecorded) gathered.push(span);
      },
      take() {
        underWay = gathered;
        gathered = [];
        return batch.take();
      },
    },
    onStored() {
      for (const span of underWay) span.end();
      underWay = [];
    },
  };
}
