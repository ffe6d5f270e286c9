// Requests as they happen: a tail of `decisions` and `responses`, read once for all watchers, and
// only while there are any. Best effort: a missed event is in ClickHouse a second later.
import { setInterval } from "node:timers";
import type { Logger } from "pino";
import type { Kafka, RawRecord } from "../../../connections/kafka/port.ts";
import type { Codec } from "../../../connections/registry/port.ts";
import type { RecordOf, Topic } from "../../../schemas/records.ts";
import type { Decision, Response } from "../../../schemas/types.ts";
import type { LiveBatch, LiveEvent } from "./types/requests.ts";

type Tailed = "decisions" | "responses";

export interface LiveDependencies {
  kafka: Pick<Kafka<never, Topic<Tailed>, never>, "tailTopic">;
  codec: Pick<Codec, "decode">;
  topic: (name: Tailed) => Topic<Tailed>;
  log: Logger;
}

export class TooManyWatchers extends Error {
  override name = "TooManyWatchers";
}

export type Live = ReturnType<typeof createLive>;

const everyMs = 250;
/** A person reads no more; the list shows the rest. */
const mostEvents = 50;
const mostWatchers = 32;

export function createLive({ kafka, codec, topic, log }: LiveDependencies) {
  const watchers = new Set<(batch: LiveBatch) => void>();
  let events: LiveEvent[] = [];
  let skipped = 0;
  let tailing: Promise<{ stop(): Promise<void> }> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const read = async <N extends Tailed>(
    name: N,
    { value }: RawRecord,
    eventOf: (record: RecordOf[N]) => LiveEvent | null,
  ): Promise<void> => {
    if (value === null) return;
    if (events.length >= mostEvents) {
      skipped++;
      return;
    }
    const decoded = await codec.decode(name, value);
    const event = decoded.ok ? eventOf(decoded.value) : null;
    if (event !== null) events.push(event);
  };
  const tail = <N extends Tailed>(name: N, eventOf: (record: RecordOf[N]) => LiveEvent | null) =>
    kafka.tailTopic(topic(name), (record) => {
      read(name, record, eventOf).catch((error: unknown) => log.debug({ err: error }, "a live event was lost"));
    });
  const flush = (): void => {
    if (events.length === 0 && skipped === 0) return;
    const batch = { events, skipped };
    [events, skipped] = [[], 0];
    for (const take of watchers) take(batch);
  };
  const begin = async (): Promise<{ stop(): Promise<void> }> => {
    const tails = await Promise.allSettled([tail("decisions", ofDecision), tail("responses", ofResponse)]);
    const running = tails.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const stop = async (): Promise<void> => {
      await Promise.all(running.map((one) => one.stop()));
    };
    const failed = tails.find((one) => one.status === "rejected");
    if (failed === undefined) return { stop };
    await stop();
    throw failed.reason;
  };
  const end = async (): Promise<void> => {
    clearInterval(timer);
    [timer, events, skipped] = [undefined, [], 0];
    const ending = tailing;
    tailing = undefined;
    const running = await ending?.catch(() => undefined);
    await running?.stop();
  };

  return {
    /** Until the signal is aborted. Rejects with TooManyWatchers. */
    async watch(take: (batch: LiveBatch) => void, signal: AbortSignal): Promise<void> {
      if (watchers.size >= mostWatchers) throw new TooManyWatchers(`${watchers.size} pages are open already`);
      const mine = (batch: LiveBatch): void => take(batch);
      watchers.add(mine);
      try {
        tailing ??= begin();
        timer ??= setInterval(flush, everyMs).unref();
        await tailing;
        await new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          else signal.addEventListener("abort", () => resolve(), { once: true });
        });
      } finally {
        watchers.delete(mine);
        if (watchers.size === 0) await end();
      }
    },
    stop: end,
  };
}

const ofDecision = ({
  requestId: id,
  tenant,
  domain,
  createdAt,
  arm,
  source,
  probability,
  arms,
}: Decision): LiveEvent => ({
  ...{ kind: "decided", id, tenant, domain, at: createdAt, arm, source, probability },
  examples: arms.find((one) => one.arm === arm)?.examples.length ?? 0,
});

/** A copy of an earlier response is no news. */
const ofResponse = (response: Response): LiveEvent | null => {
  const { requestId: id, tenant, createdAt, arm, source, exampleIds, status, cost, timings, error } = response;
  if (response.duplicate) return null;
  return {
    ...{ kind: "answered", id, tenant, at: createdAt, arm, source, examples: exampleIds.length, state: status, cost },
    ...{ totalMs: timings.total, firstTokenMs: timings.firstToken, errorCode: error?.code ?? null },
  };
};
