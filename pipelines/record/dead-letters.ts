// Where records go that have no row: what can't be decoded, and what ClickHouse refuses.
import type { RecordedTopic } from "../../operators/decode/rows.ts";
import { createUndecodable } from "../../operators/decode/undecodable.ts";
import { createRefused } from "../../operators/insert/refused.ts";
import { errorOf } from "../../connections/errors.ts";
import { deadLetterRecord } from "../../runtime/dead-letter.ts";
import type { StageMetrics } from "../../runtime/metrics/port.ts";
import { isRefusedForGood } from "../../runtime/refused-outputs.ts";
import type { Source } from "../../runtime/rows.ts";
import type { SessionOf } from "../../state/session.ts";
import { record } from "./pipeline.ts";

export interface LettersOptions {
  recordOf: (topic: string) => RecordedTopic;
  metrics: Pick<StageMetrics, "dropped">;
  log: SessionOf<object>["log"];
}

export function openDeadLetters(session: SessionOf<typeof record>, { recordOf, metrics, log }: LettersOptions) {
  const { kafka, codec } = session;
  const topic = session.topic("dead-letters");
  const letters = kafka.plainProducer();
  const deadLetter = async (
    { topic: from, partition, record: raw, tenant }: Source,
    code: string,
    reason: string,
    headers: Record<string, string> = {},
  ): Promise<void> => {
    const position = { topic: from, partition, offset: raw.offset };
    const send = async (bare: boolean): Promise<void> => {
      const why = { stage: record.name, code, reason, ...(tenant !== undefined && { tenant }) };
      const letter = deadLetterRecord(raw, position, why, Date.now(), bare);
      await letters.send([{ topic, key: letter.key, value: codec.encode("dead-letters", letter), headers }]);
    };
    try {
      await send(false).catch((error: unknown) =>
        isRefusedForGood(error) ? send(true) : Promise.reject(errorOf(error)),
      );
    } catch (error) {
      if (!isRefusedForGood(error)) throw error;
      metrics.dropped("withheld");
      log.error({ err: error, ...position, code }, "the broker takes no dead letter of a record: it is withheld");
    }
  };
  return {
    undecodable: createUndecodable({
      topicOf: recordOf,
      deadLetter,
      onUndecodable: (_topic, { topic: from, partition, record: raw }, code, reason) => {
        log.warn({ topic: from, partition, offset: raw.offset, code, reason }, "a record has no row");
      },
    }),
    refused: createRefused({
      letters: topic,
      deadLetter,
      onRefused({ topic: from, partition, record: raw }, code, reason, kept) {
        metrics.dropped(code);
        const what = { topic: from, partition, offset: raw.offset, code, reason };
        if (kept) log.warn(what, "ClickHouse refuses a row: its record is a dead letter");
        else log.error(what, "ClickHouse refuses a dead letter twice: its bytes are on the topic alone");
      },
    }),
    close: () => letters.close(),
  };
}
