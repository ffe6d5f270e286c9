// Records to bytes and back, in Confluent's wire format (magic 0, schema id, Avro).
import type { RecordOf, TopicName, TopicOwners } from "../../schemas/records.ts";

export type Decoded<T> = { ok: true; value: T } | { ok: false; code: "undecodable" | "unknown_schema"; reason: string };

export interface Codec {
  /**
   * Synchronous once register() has run. Throws CodecError("unencodable") naming the field that is
   * wrong.
   */
  encode<N extends TopicName>(topic: N, record: RecordOf[N]): Buffer;
  /**
   * Resolves old and new writers' schemas to ours. Rejects only when the registry can't be reached
   * (RegistryUnavailable): wait and try again.
   */
  decode<N extends TopicName>(topic: N, bytes: Buffer): Promise<Decoded<RecordOf[N]>>;
  /**
   * Registers every subject (BACKWARD, set per subject) or finds it; the owners have topics of
   * their own. Throws on an incompatible schema.
   */
  register(owners: Pick<TopicOwners, "arms"> & Partial<TopicOwners>): Promise<void>;
}

/** Whose a record is, for the share of places that its tenant has. */
export interface TenantOf {
  /**
   * At once and without decoding it all; "" for what can't be read, or not yet (a writer's schema
   * that is still fetched).
   */
  tenantOf(topic: TopicName, bytes: Buffer): string;
}

export class CodecError extends Error {
  override name = "CodecError";
}
export class RegistryUnavailable extends Error {
  override name = "RegistryUnavailable";
}
