// The id of a new Kafka cluster: 16 random bytes, so that a client can tell one stack from another.
import { randomBytes } from "node:crypto";

/**
 * A cluster id as Kafka writes it: 22 characters of base64url. Never one that begins with a dash
 * (one in 64 would): Kafka's tools take that for an option and refuse to format the storage, which
 * is why `org.apache.kafka.common.Uuid.randomUuid` avoids them as well.
 */
export function newClusterId(bytes: (size: number) => Buffer = randomBytes): string {
  for (;;) {
    const id = bytes(16).toString("base64url");
    if (!id.startsWith("-")) return id;
  }
}
