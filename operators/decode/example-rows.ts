// Rows of the example pool: the state of an example, and what is left of an evicted one. Pure, as rows.ts says.
import type { Row, TableRows } from "../../runtime/rows.ts";
import type { Example, ExampleSource } from "../../schemas/types.ts";
import { at, double, floats, time, timeOrNull, type Place } from "./values.ts";

export const sourceColumns = (source: ExampleSource): object => ({
  source_arm: source.arm,
  source_model: source.model,
  source_request_id: source.requestId,
});

export const exampleRow = (record: Example, place: Place): Row => ({
  example_id: record.id,
  tenant: record.tenant,
  domain: record.domain,
  request: record.request,
  response: record.response,
  embedding: floats(record.embedding),
  embedding_model: record.embeddingModel,
  ...sourceColumns(record.source),
  quality: double(record.quality),
  bytes: record.bytes,
  expires_at: timeOrNull(record.expiresAt),
  replays: record.replays,
  deleted: false,
  created_at: time(record.createdAt),
  kafka_timestamp: time(place.timestamp),
  ...at(place),
});

/** A tombstone knows its key alone, tenant/domain/example id; null when the key is no such thing. */
export function evictedExampleRow(key: string, place: Place): TableRows | null {
  const [, domain, id] = /^(.+)\/([^/]+)$/s.exec(key) ?? [];
  if (domain === undefined || id === undefined) return null;
  return {
    table: "examples",
    rows: [
      {
        example_id: id,
        tenant: decodedTenant(domain),
        domain,
        deleted: true,
        created_at: time(place.timestamp),
        kafka_timestamp: time(place.timestamp),
        ...at(place),
      },
    ],
  };
}

/** Undoes sharingDomain of algorithms/identity.ts for the tenant. */
function decodedTenant(domain: string): string {
  const name = domain.split("/", 1)[0] ?? "";
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
