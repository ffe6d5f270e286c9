// First verb of record: bytes to rows. Waits while the registry is away; undecodable records are
// returned with their reason.
import { tenantIn } from "../../algorithms/identity/names.ts";
import type { Codec } from "../../connections/registry/port.ts";
import { decodeWithRetries } from "../../runtime/decode.ts";
import type { DecodedRows } from "../../runtime/rows.ts";
import { boundsProblem } from "./bounds.ts";
import { evictedExampleRow } from "./example-rows.ts";
import { rowsOf, type RecordedTopic } from "./rows.ts";
import type { RowPosition } from "./values.ts";

export interface DecodeDependencies {
  codec: Pick<Codec, "decode">;
  onWaiting?: (cause: Error) => void;
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
    if (!decoded.ok) return { ...decoded, tenant: tenantIn(decoded.envelope) };
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
