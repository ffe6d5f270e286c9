// The id of a new Kafka cluster: 16 random bytes, so that a client can tell one stack from another.
import { randomBytes } from "node:crypto";

/**
 * 22 characters of base64url, never beginning with a dash: Kafka's tools would take that for an
 * option.
 */
export function newClusterId(bytes: (size: number) => Buffer = randomBytes): string {
  for (;;) {
    const id = bytes(16).toString("base64url");
    if (!id.startsWith("-")) return id;
  }
}
