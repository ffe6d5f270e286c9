// Cancelled requests (topic cancels) for processes that call arms. Remembered for a while, bounded,
// best effort; a cancel before a request's arrival is not its own.
import { TAKEN_BACK } from "../arms/arm.ts";
import { requestKey } from "../algorithms/identity/identity.ts";
import type { WatchCancels } from "./cancel.ts";
import { decodeWithRetries } from "../runtime/decode.ts";
import type { Cancel } from "../schemas/types.ts";
import type { SessionOf } from "./session.ts";

export interface CancelsOptions {
  clock: () => number;
  retentionMs?: number;
  /** Cancels that are remembered; the oldest go first. */
  most?: number;
}

export interface Cancels {
  /** at: when the broker had it, milliseconds since the epoch. */
  apply(cancel: Pick<Cancel, "requestId" | "tenant">, at: number): void;
  watch: WatchCancels;
}

const defaultRetentionMs = 10 * 60_000;
const mostHeld = 65_536;

const keyOf = ({ tenant, requestId }: Pick<Cancel, "requestId" | "tenant">): string => requestKey(tenant, requestId);

export function createCancels({ clock, retentionMs = defaultRetentionMs, most = mostHeld }: CancelsOptions): Cancels {
  const known = new Map<string, number>();
  const open = new Map<string, Set<(at: number) => void>>();

  const forget = (): void => {
    const old = clock() - retentionMs;
    for (const [key, at] of known) {
      if (known.size <= most && at > old) return;
      known.delete(key);
    }
  };

  return {
    apply(cancel, at) {
      if (at <= clock() - retentionMs) return;
      const key = keyOf(cancel);
      known.delete(key);
      known.set(key, at);
      forget();
      for (const take of open.get(key) ?? []) take(at);
    },
    watch(call, ends) {
      const key = keyOf(call);
      const ending = new AbortController();
      let cancelled = false;
      const take = (at: number): void => {
        if (at < call.arrivedAt) return;
        cancelled = true;
        ending.abort(TAKEN_BACK);
      };
      const stop = (): void => ending.abort(ends.reason);
      ends.addEventListener("abort", stop, { once: true });
      if (ends.aborted) stop();
      const those = open.get(key) ?? new Set();
      open.set(key, those.add(take));
      const at = known.get(key);
      if (at !== undefined) take(at);
      return {
        signal: ending.signal,
        isCancelled: () => cancelled,
        end() {
          ends.removeEventListener("abort", stop);
          those.delete(take);
          if (those.size === 0 && open.get(key) === those) open.delete(key);
        },
      };
    },
  };
}

export interface SharedCancels extends Pick<Cancels, "watch"> {
  stop(): Promise<void>;
}

/** Session of a stage that calls arms. */
export type CancelSession = Pick<SessionOf<{ tables: ["cancels"] }>, "kafka" | "codec" | "topic" | "log">;

export type CancelsOf = (session: CancelSession) => Pick<Cancels, "watch">;

/** Reads the topic, which holds minutes of cancels, and follows it; no stage waits for that. */
export function shareCancels({ kafka, codec, topic, log }: CancelSession): SharedCancels {
  const cancels = createCancels({ clock: Date.now });
  const stopping = new AbortController();
  const { signal } = stopping;
  const onWaiting = (cause: Error): void => log.warn({ err: cause }, "the registry is away: cancels wait");
  const reader = kafka.readTopic(topic("cancels"), async (records, partition) => {
    for (const { value, timestamp, offset } of records) {
      if (value === null) continue;
      const decoded = await decodeWithRetries(codec, "cancels", value, { signal, onWaiting });
      if (decoded.ok) cancels.apply(decoded.value, timestamp);
      else log.warn({ partition, offset, reason: decoded.reason }, "a cancel is unreadable");
    }
  });
  return {
    watch: cancels.watch,
    async stop() {
      stopping.abort();
      await reader.stop();
    },
  };
}
