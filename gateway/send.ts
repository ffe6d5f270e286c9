// Produces records, those of one moment together: while the brokers take one batch, the next is
// gathered. Delivery: resolves when all in-sync replicas have the record. One that rejects may be
// there or come later: its request id makes a repeat harmless. Nothing is held without a bound: who
// sends has a place of the gateway.
import type { OutgoingMessage, PlainProducer } from "../connections/kafka/port.ts";
import { ApiError } from "./errors.ts";

export type Send<T extends string> = (message: OutgoingMessage<T>) => Promise<void>;

interface Pending<T extends string> {
  message: OutgoingMessage<T>;
  resolve(): void;
  reject(reason: unknown): void;
}

const mostBytes = 8 * 1_048_576;
/** Batches under way at a time: a slow broker must not be asked one at a time. */
const mostBatches = 4;

/** acceptMs: after so long without an acknowledgement a record counts as not taken. */
export function createSend<T extends string>(producer: Pick<PlainProducer<T>, "send">, acceptMs: number): Send<T> {
  const waiting = new Set<Pending<T>>();
  let batches = 0;

  const next = (): Pending<T>[] => {
    const batch: Pending<T>[] = [];
    let bytes = 0;
    for (const one of waiting) {
      bytes += one.message.value?.length ?? 0;
      if (batch.length > 0 && bytes > mostBytes) break;
      batch.push(one);
    }
    for (const one of batch) waiting.delete(one);
    return batch;
  };
  const pump = (): void => {
    if (waiting.size === 0 || batches >= mostBatches) return;
    const batch = next();
    batches++;
    producer
      .send(batch.map(({ message }) => message))
      .then(
        () => batch.forEach(({ resolve }) => resolve()),
        (error: unknown) => batch.forEach(({ reject }) => reject(error)),
      )
      .finally(() => {
        batches--;
        pump();
      });
  };

  return (message) =>
    new Promise((resolve, reject) => {
      const away = (cause: unknown): void => reject(unavailable(cause));
      const pending: Pending<T> = {
        message,
        resolve() {
          clearTimeout(timer);
          resolve();
        },
        reject(error) {
          clearTimeout(timer);
          away(error);
        },
      };
      const timer = setTimeout(() => {
        waiting.delete(pending);
        away(new Error(`no acknowledgement within ${acceptMs} ms`));
      }, acceptMs);
      waiting.add(pending);
      // What else is sent in this turn of the event loop goes along.
      if (waiting.size === 1) setImmediate(pump);
    });
}

export const unavailable = (cause: unknown): ApiError =>
  Object.assign(
    new ApiError({
      ...{ status: 503, code: "kafka_unavailable", retryAfter: 2 },
      message: "Kafka does not take requests now: try again, with an Idempotency-Key to be answered once.",
    }),
    { cause },
  );
