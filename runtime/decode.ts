// Bytes to a record, waiting while the registry is away: nothing is given up for it.
import { setTimeout as sleep } from "node:timers/promises";
import { backoff, type Backoff } from "../algorithms/queueing/backoff.ts";
import { RegistryUnavailable, type Codec, type Decoded } from "../connections/registry/port.ts";
import type { RecordOf, TopicName } from "../schemas/records.ts";
import { signalOf, type Cancellation } from "./lazy-abort.ts";

export interface DecodeRetryOptions {
  signal?: Cancellation | undefined;
  onWaiting?: ((cause: Error) => void) | undefined;
  /** Milliseconds before the first repeat; doubled to at most 5 s. */
  firstMs?: number;
}

const longestMs = 5_000;

/** Rejects only when aborted, and for bugs; undecodable bytes are a value. */
export async function decodeWithRetries<N extends TopicName>(
  codec: Pick<Codec, "decode">,
  topic: N,
  bytes: Buffer,
  { signal, onWaiting, firstMs = 100 }: DecodeRetryOptions = {},
): Promise<Decoded<RecordOf[N]>> {
  let waits: Backoff | undefined;
  for (;;) {
    try {
      return await codec.decode(topic, bytes);
    } catch (error) {
      if (!(error instanceof RegistryUnavailable)) throw error;
      waits ??= backoff({ first: firstMs, limit: longestMs });
      onWaiting?.(error);
      await sleep(waits.next(), undefined, { signal: signal && signalOf(signal) });
    }
  }
}
