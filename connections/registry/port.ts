// Records to bytes and back, in Confluent's wire format (magic 0, schema id, Avro).
import type { RecordOf, TopicName, TopicOwners } from "../../schemas/records.ts";

export type Decoded<T> =
  | { ok: true; value: T }
  | {
      ok: false;
      code: "undecodable" | "unknown_schema";
      reason: string;
      /** A request's id, tenant, domain and reply partition, where these can be read. */
      envelope?: T;
    };

export interface Codec {
  /** Synchronous after register(). CodecError("unencodable") names the field. */
  encode<N extends TopicName>(topic: N, record: RecordOf[N]): Buffer;
  /** Resolves old and new schemas to ours. Rejects only with RegistryUnavailable. */
  decode<N extends TopicName>(topic: N, bytes: Buffer): Promise<Decoded<RecordOf[N]>>;
  /** Registers every subject (BACKWARD). Throws on an incompatible schema. */
  register(owners: Pick<TopicOwners, "arms"> & Partial<TopicOwners>): Promise<void>;
}

export interface TenantOf {
  /** At once, without decoding; "" where it can't be read (yet). */
  tenantOf(topic: TopicName, bytes: Buffer): string;
}

export class CodecError extends Error {
  override name = "CodecError";
}
export class RegistryUnavailable extends Error {
  override name = "RegistryUnavailable";
}
