// The pass of learn over kept answers that were rated badly: they are taken back.
import { longestTtlMs } from "../../config/sections/cache.ts";
import type { PlainProducer } from "../../connections/kafka/port.ts";
import { createRetract } from "../../operators/retract/retract.ts";
import type { Sent } from "../../runtime/declaration.ts";
import type { Learning } from "./helpfulness.ts";
import { retractAnswers, type learn } from "./pipeline.ts";

/** Outside of the policies' transactions: one tombstone too many changes nothing. */
export function retractPass(
  { session, metrics, log }: Learning,
  producer: Pick<PlainProducer<Sent<typeof learn>>, "send">,
): () => Promise<boolean> {
  const { config, clickhouse, topic } = session;
  const pass = retractAnswers.bind({
    retract: createRetract({
      clickhouse,
      publish: (keys) => producer.send(keys.map((key) => ({ topic: topic("response-cache"), key, value: null }))),
      longestTtlMs: longestTtlMs(config.cache),
      clock: Date.now,
    }),
    observe: metrics.observe,
  });
  return async () => {
    const { retracted } = await pass();
    if (retracted > 0) {
      metrics.sent("response-cache", retracted);
      log.info({ answers: retracted }, "kept answers were rated badly: they are not given any more");
    }
    return false;
  };
}
