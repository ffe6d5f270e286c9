// First verb of record: bytes to rows. Waits while the registry is away; undecodable records are
// returned with their reason.
import { shortName, metadataBytes, mostMetadataBytes, nameProblem } from "../../algorithms/identity/names.ts";
import type { Codec } from "../../connections/registry/port.ts";
import { decodeWithRetries } from "../../runtime/decode.ts";
import type { DecodedRows } from "../../runtime/rows.ts";
import { evictedExampleRow } from "./example-rows.ts";
import { rowsOf, type RecordedTopic } from "./rows.ts";
import type { RowPosition } from "./values.ts";
import { feedbackProblem } from "../../algorithms/identity/feedback.ts";
import type { RecordOf } from "../../schemas/records.ts";

export interface DecodeDependencies {
  codec: Pick<Codec, "decode">;
  onWaiting?: (cause: Error) => void;
}

/** An erasure finds its dead letter by it. */
function tenantIn(record: object): string | undefined {
  const { tenant } = record as { tenant?: unknown };
  return typeof tenant === "string" ? shortName(tenant) : undefined;
}

export type Decode = (
  topic: RecordedTopic,
  record: { key: Buffer | null; value: Buffer | null },
  position: RowPosition,
  signal: AbortSignal,
) => Promise<DecodedRows>;

/** Rejects only when the signal aborts a wait. */
export function createDecode({ codec, onWaiting }: DecodeDependencies): Decode {
  async function rows<N extends RecordedTopic>(
    topic: N,
    value: Buffer,
    position: RowPosition,
    signal: AbortSignal,
  ): Promise<DecodedRows> {
    const decoded = await decodeWithRetries(codec, topic, value, { signal, onWaiting });
    if (!decoded.ok) return decoded;
    const problem = boundsProblem(topic, decoded.value);
    if (problem !== null) return { ok: false, code: "out_of_bounds", reason: problem, tenant: tenantIn(decoded.value) };
    return { ok: true, tables: rowsOf[topic](decoded.value, position) };
  }

  return async function decode(topic, { key, value }, position, signal) {
    if (value === null) {
      const evicted = topic === "examples" && key !== null ? evictedExampleRow(key.toString("utf8"), position) : null;
      if (evicted !== null) return { ok: true, tables: [evicted] };
      return { ok: false, code: "no_value", reason: "The record has no value." };
    }
    return rows(topic, value, position, signal);
  };
}

const problems: { [N in RecordedTopic]?: (record: RecordOf[N]) => string | null } = {
  feedback: (record) =>
    record.requestId === ""
      ? "requestId is empty: feedback on a whole session goes to the gateway (POST /v1/feedback)."
      : (feedbackProblem(record)?.why ?? null),
  observations({ tenant, domain, source, request, quality }) {
    // It decides which of two like examples stays: one that claims more than all there is would
    // displace them all.
    if (quality !== null && !(quality >= 0 && quality <= 1)) return `quality is ${quality}, and it lies in [0, 1].`;
    const { arm, model, requestId } = source;
    const name = nameProblem({
      ...{ tenant, domain, "request.id": request.id, "request.domain": request.domain },
      ...{ "source.arm": arm, "source.model": model, "source.requestId": requestId },
    });
    if (name !== null) return name;
    const bytes = metadataBytes(request.metadata);
    const most = mostMetadataBytes.recorded;
    return bytes > most ? `metadata has ${bytes} bytes, and it may have ${most}.` : null;
  },
};

export function boundsProblem<N extends RecordedTopic>(topic: N, record: RecordOf[N]): string | null {
  return problems[topic]?.(record) ?? null;
}
