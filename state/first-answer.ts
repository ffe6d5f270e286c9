// The first words with the servers, when a process starts: one that is just being started again, or
// busy, is no reason to end.
import { ClickHouseUnavailable } from "../connections/clickhouse/port.ts";
import { messageOf } from "../connections/errors.ts";
import { classifyKafkaError } from "../connections/kafka/errors.ts";
import { remedyOf } from "../connections/security/errors.ts";
import { RegistryUnavailable } from "../connections/registry/port.ts";
import { untilDone } from "../runtime/until-done.ts";

/** Before the longest wait it is given up, after seven attempts: a new broker on a busy machine. */
const answerMs = { first: 500, limit: 32_000 };

/**
 * Reports each failed attempt. Rejects after seven; at once for other errors than an absent server.
 */
export async function untilAnswered(prepare: () => Promise<unknown>, say: (line: string) => void): Promise<void> {
  await untilDone(prepare, {
    waits: answerMs,
    onFailure(error, retryInMs) {
      // A certificate or an ACL does not come right within seconds.
      const passing =
        remedyOf(error) === undefined &&
        (error instanceof RegistryUnavailable ||
          error instanceof ClickHouseUnavailable ||
          classifyKafkaError(error) === "retriable");
      if (!passing || retryInMs >= answerMs.limit) throw error;
      say(`${messageOf(error)}: next try in ${retryInMs / 1_000} s`);
    },
  });
}
