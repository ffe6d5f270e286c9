// How many calls of inline arms the plan processes have under way (topic inline-calls): every
// process publishes its own once a second, where they have changed, and follows those of the
// others. What load.ts reads off the work topic of a queued arm. Best effort: what is missing makes
// an arm look idler than it is.
import { setTimeout as sleep } from "node:timers/promises";
import type { TopicReader } from "../connections/kafka/port.ts";
import { repeat } from "../runtime/repeat.ts";
import { followTable } from "../runtime/table.ts";
import type { InlineCalls } from "../schemas/types.ts";
import type { SessionOf } from "./session.ts";

/**
 * Counts are published again every `renewMs` while they are not 0, and void when they were not for
 * `voidMs`; milliseconds.
 */
const renewMs = 10_000;
export const voidMs = 30_000;
const everyMs = 1_000;
/** A broker that is away must not hold up the end of the stage. */
const goodbyeMs = 1_000;
const mostProcesses = 1_024;

export interface CallTable {
  apply(key: string, calls: InlineCalls): void;
  remove(key: string): void;
  /** Calls that other instances than this one have under way at an arm. */
  others(arm: string, instance: string): number;
}

export function createCallTable(clock: () => number): CallTable {
  const rows = new Map<string, InlineCalls>();
  const isVoid = ({ createdAt }: InlineCalls): boolean => clock() - createdAt >= voidMs;
  return {
    apply(key, row) {
      for (const [other, known] of rows) if (isVoid(known)) rows.delete(other);
      // A clock that is ahead of ours must not make a count live for ever.
      const createdAt = Math.min(row.createdAt, clock());
      if (rows.size < mostProcesses || rows.has(key)) rows.set(key, { ...row, createdAt });
    },
    remove: (key) => void rows.delete(key),
    others: (arm, instance) =>
      [...rows.values()].reduce(
        (sum, row) => sum + (row.arm === arm && row.instance !== instance && !isVoid(row) ? row.calls : 0),
        0,
      ),
  };
}

export interface SharedCalls {
  /** Calls under way at an arm, of all plan processes. */
  of(arm: string): number;
  /** Takes back what was said: this process calls nobody any more. */
  stop(): Promise<void>;
}

export interface SharedCallsOptions {
  /** Of this process, by arm; an arm that is missing is not an inline one. */
  own: () => ReadonlyMap<string, number>;
  instance: string;
  log: SessionOf<object>["log"];
}

/** Where no arm is inline nothing is read, and before one was called nothing is sent. */
export function shareCalls(
  {
    kafka,
    codec,
    topic,
  }: Pick<SessionOf<{ tables: ["inline-calls"]; outputs: ["inline-calls"] }>, "kafka" | "codec" | "topic">,
  { own, instance, log }: SharedCallsOptions,
): SharedCalls {
  const table = createCallTable(Date.now);
  const follow = (): TopicReader =>
    followTable({
      ...{ kafka, codec, log, topic: topic("inline-calls"), record: "inline-calls" as const },
      apply(changes) {
        for (const { key, value } of changes) {
          if (value === null) table.remove(key);
          else table.apply(key, value);
        }
      },
    });
  let reader: TopicReader | undefined;
  const stopping = new AbortController();
  const said = new Map<string, { calls: number; at: number }>();
  let producer: ReturnType<typeof kafka.plainProducer> | undefined;
  const send = async (values: readonly { arm: string; value: Buffer | null }[]): Promise<void> => {
    if (values.length === 0) return;
    producer ??= kafka.plainProducer();
    await producer.send(
      values.map(({ arm, value }) => ({ topic: topic("inline-calls"), key: `${arm}/${instance}`, value })),
    );
  };

  const pass = async (): Promise<boolean> => {
    const now = Date.now();
    if (own().size > 0) reader ??= follow();
    const changed = [...own()].filter(([arm, calls]) => {
      const last = said.get(arm) ?? { calls: 0, at: now };
      return calls !== last.calls || (calls > 0 && now - last.at >= renewMs);
    });
    await send(
      changed.map(([arm, calls]) => ({
        arm,
        value: codec.encode("inline-calls", { arm, tenant: "default", instance, calls, createdAt: now }),
      })),
    );
    for (const [arm, calls] of changed) said.set(arm, { calls, at: now });
    return false;
  };
  const ended = repeat(pass, { everyMs, signal: stopping.signal, log });

  return {
    of: (arm) => (own().get(arm) ?? 0) + table.others(arm, instance),
    async stop() {
      stopping.abort();
      const goodbye = ended.then(() => send([...said.keys()].map((arm) => ({ arm, value: null }))));
      await Promise.race([goodbye.catch(() => undefined), sleep(goodbyeMs)]);
      await Promise.all([producer?.close(), reader?.stop()]);
    },
  };
}
