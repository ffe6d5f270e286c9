// Puts a log's requests on the replay's topic in time order, some at once, and waits for responses.
// The one partition holds a beginning of the log, from which a killed run goes on.
import { setTimeout as sleep } from "node:timers/promises";
import { requestKey } from "../../algorithms/identity/identity.ts";
import type { RawRecord } from "../../connections/kafka/port.ts";
import type { Session } from "../../state/session.ts";
import type { Replayed } from "../../state/log-replay-row.ts";

export interface FeedOptions {
  session: Pick<Session, "kafka" | "codec" | "topic">;
  total: number;
  readPage(from: number, to: number): Promise<Replayed[]>;
  inFlight: number;
  /** Logged time that passes in one of ours; Infinity: as fast as they are answered. */
  speed: number;
  /** Without any response for so long, while some are owed, it is given up. */
  stalledAfterMs: number;
  signal: AbortSignal;
  onProgress: (answered: number) => void;
}

export type Feed = ReturnType<typeof createFeed>;

/** A request may have a megabyte. */
const pageSize = 100;

export function createFeed(options: FeedOptions) {
  const { session, total, readPage, inFlight, speed, stalledAfterMs, signal, onProgress } = options;
  const { kafka, codec, topic } = session;
  /** Put on the topic and not answered yet. */
  const open = new Map<string, Replayed>();
  const answered = new Set<string>();
  const producer = kafka.plainProducer();
  let next = 0;
  let done = 0;
  let answeredAt = performance.now();
  let wake = (): void => undefined;
  signal.addEventListener("abort", () => wake(), { once: true });
  let responses: { caughtUp: Promise<void>; stop(): Promise<void> } | undefined;

  const take = async (records: RawRecord[]): Promise<void> => {
    for (const { value } of records) {
      if (value === null) continue;
      const decoded = await codec.decode("responses", value);
      if (!decoded.ok || decoded.value.duplicate) continue;
      const key = requestKey(decoded.value.tenant, decoded.value.requestId);
      // Before run() it is not known yet which of them are there.
      if (!open.delete(key) && next === 0) answered.add(key);
      done++;
      answeredAt = performance.now();
    }
    onProgress(done);
    wake();
  };

  const produced = async (): Promise<number> => {
    const seen = new Set<string>();
    const reader = kafka.readTopic(topic("requests"), async (records) => {
      for (const { value } of records) {
        const decoded = value === null ? undefined : await codec.decode("requests", value);
        if (decoded?.ok === true) seen.add(requestKey(decoded.value.tenant, decoded.value.id ?? ""));
      }
    });
    await reader.caughtUp;
    await reader.stop();
    return seen.size;
  };

  const untilFewerThan = async (most: number): Promise<void> => {
    while (open.size >= most) {
      signal.throwIfAborted();
      if (performance.now() - answeredAt > stalledAfterMs)
        throw new Error(`no request was answered for ${Math.round(stalledAfterMs / 1000)} s: look for errors above`);
      // One timer at a time: it only looks whether it has been too long.
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };

  const send = async (some: readonly Replayed[]): Promise<void> => {
    for (const one of some) open.set(requestKey(one.request.tenant, one.request.id), one);
    answeredAt = performance.now();
    await producer.send(
      some.map(({ request }) => ({
        ...{ topic: topic("requests"), partition: 0, key: request.id, value: codec.encode("requests", request) },
      })),
    );
  };

  return {
    find: (tenant: string, id: string): Replayed | undefined => open.get(requestKey(tenant, id)),
    async prepare(): Promise<void> {
      responses = kafka.readTopic(topic("responses"), take);
      await responses.caughtUp;
      const there = await produced();
      for (let from = 0; from < there; from += pageSize)
        for (const one of await readPage(from, Math.min(there, from + pageSize))) {
          const key = requestKey(one.request.tenant, one.request.id);
          if (!answered.has(key)) open.set(key, one);
        }
      answered.clear();
      next = there;
      onProgress(done);
    },
    /** Resolves when all are answered, to how many had none before; rejects when aborted. */
    async run(): Promise<number> {
      answeredAt = performance.now();
      const began = performance.now();
      const before = done;
      let first: number | undefined;
      while (next < total) {
        const page = await readPage(next, Math.min(total, next + pageSize));
        for (let from = 0; from < page.length;) {
          await untilFewerThan(inFlight);
          let to = Math.min(page.length, from + inFlight - open.size);
          if (Number.isFinite(speed)) {
            const at = page[from]!.request.createdAt;
            first ??= at;
            const due = began + (at - first) / speed;
            if (due > performance.now()) await sleep(due - performance.now(), undefined, { signal });
            const passed = first + (performance.now() - began) * speed;
            const later = page.findIndex(({ request }, i) => i > from && request.createdAt > passed);
            if (later > from) to = Math.min(to, later);
          }
          await send(page.slice(from, to));
          from = to;
        }
        next += page.length;
      }
      await untilFewerThan(1);
      return done - before;
    },
    async stop(): Promise<void> {
      await responses?.stop();
      await producer.close();
    },
  };
}
