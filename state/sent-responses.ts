// Responses as sent, read from their position where ClickHouse has placeholders (privacy.redact):
// one at a time, by a follower opened for the first.
import pLimit from "p-limit";
import type { Logger } from "pino";
import { inTime } from "../connections/in-time.ts";
import type { RawRecord, TopicFollower } from "../connections/kafka/port.ts";
import type { SentResponse } from "./sent-response.ts";
import { decodeWithRetries } from "../runtime/decode.ts";
import type { SessionOf } from "./session.ts";

type SentSession = Pick<SessionOf<{ tables: ["responses"] }>, "kafka" | "codec" | "topic">;

export interface SentResponses {
  find: SentResponse;
  stop(): Promise<void>;
}

/** The first one waits for the follower to join. */
const readMs = 15_000;
const mostWaiting = 256;

export function createSentResponses({ kafka, codec, topic }: SentSession, log: Logger): SentResponses {
  const name = topic("responses");
  const inTurn = pLimit(1);
  let follower: TopicFollower | undefined;
  let awaited: { partition: number; offset: number; found(record: RawRecord | null): void } | undefined;

  const open = (): TopicFollower =>
    kafka.followTopic(name, {
      onRecords(records, { partition, next }) {
        if (awaited?.partition !== partition) return;
        const { offset, found } = awaited;
        const record = records.find((one) => one.offset === offset);
        // Records come in their order: behind it, it is not there.
        if (record !== undefined || next > offset) found(record ?? null);
      },
      onRewound(partition) {
        if (awaited?.partition === partition) awaited.found(null);
      },
    });

  function read(partition: number, offset: number): Promise<RawRecord | null> {
    const following = (follower ??= open());
    const record = new Promise<RawRecord | null>((resolve) => {
      awaited = { partition, offset, found: resolve };
      following.follow(partition, offset);
    });
    const late = (): Error => new Error(`${name} was not read within ${readMs} ms`);
    return inTime(readMs, record, late).finally(() => {
      awaited = undefined;
      following.unfollow(partition);
    });
  }

  return {
    async find(position, tenant, requestId) {
      // A position in another cluster, or in an earlier topic of the same name.
      if (position.topic !== name) return null;
      if (inTurn.pendingCount >= mostWaiting) throw new Error("too many responses are read from their topic already");
      const record = await inTurn(() => read(position.partition, position.offset));
      const value = record?.value ?? null;
      if (value === null) return null;
      const decoded = await decodeWithRetries(codec, "responses", value, {
        signal: AbortSignal.timeout(readMs),
      });
      if (!decoded.ok || decoded.value.tenant !== tenant || decoded.value.requestId !== requestId) {
        log.warn({ ...position, requestId }, "the topic has another record where a response should stand");
        return null;
      }
      return decoded.value;
    },
    stop: async () => follower?.stop(),
  };
}
