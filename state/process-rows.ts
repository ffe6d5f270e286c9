// What processes say of arms, on a compacted topic by arm/instance: own rows once a second when
// changed, others' followed. Best effort.
import { setTimeout as sleep } from "node:timers/promises";
import type { TopicReader } from "../connections/kafka/port.ts";
import { repeating } from "../runtime/repeat.ts";
import { applyTo, followTable } from "../runtime/table.ts";
import type { RecordOf } from "../schemas/records.ts";
import type { SessionOf } from "./session.ts";
import { lazyProducer } from "../runtime/send-once.ts";

/** Rows are published every `renewMs` and void after `voidMs`; ms. */
const renewMs = 10_000;
export const voidMs = 30_000;
const everyMs = 1_000;
/** A broker that is away must not hold up the end of the stage. */
const goodbyeMs = 1_000;
const mostRows = 1_024;

type RowTopic = "inline-calls" | "breakers";
interface Row {
  arm: string;
  instance: string;
  createdAt: number;
}

export type RowTable<R extends Row> = ReturnType<typeof createRowTable<R>>;

export function createRowTable<R extends Row>(clock: () => number) {
  const rows = new Map<string, R>();
  const isVoid = ({ createdAt }: R): boolean => clock() - createdAt >= voidMs;
  return {
    apply(key: string, row: R): void {
      for (const [other, known] of rows) if (isVoid(known)) rows.delete(other);
      // A clock that is ahead of ours must not make a row live for ever.
      const createdAt = Math.min(row.createdAt, clock());
      if (rows.size < mostRows || rows.has(key)) rows.set(key, { ...row, createdAt });
    },
    remove: (key: string): void => void rows.delete(key),
    others: (arm: string, instance: string): R[] =>
      [...rows.values()].filter((row) => row.arm === arm && row.instance !== instance && !isVoid(row)),
  };
}

export interface ProcessRows<R extends Row> {
  others(arm: string): R[];
  /** Takes back what was said: this process calls no arm any more. */
  stop(): Promise<void>;
}

export type RowValues<N extends RowTopic> = Omit<RecordOf[N], "arm" | "tenant" | "instance" | "createdAt">;

export interface ProcessRowsOptions<N extends RowTopic> {
  topic: N;
  /** Rows of this process, by arm; what is missing is not said, nor taken back. */
  own: () => ReadonlyMap<string, RowValues<N>>;
  /** Says nothing that is news to the others: it is not sent at first, nor renewed. */
  isIdle: (reported: RowValues<N>) => boolean;
  /** Whether there is anything to follow; asked until there is. */
  follows: () => boolean;
  instance: string;
  log: SessionOf<object>["log"];
}

/** Session of a stage that declares to follow and to write the topic. */
export type RowSession<N extends RowTopic> = Pick<
  SessionOf<{ tables: [N]; outputs: [N] }>,
  "kafka" | "codec" | "topic"
>;

export function shareRows<N extends RowTopic>(
  session: RowSession<N>,
  { topic: name, own, isIdle, follows, instance, log }: ProcessRowsOptions<N>,
): ProcessRows<RecordOf[N]> {
  // Which of the topics it is the caller's types have checked.
  const { kafka, codec, topic } = session as unknown as RowSession<RowTopic>;
  const table = createRowTable<RecordOf[N]>(Date.now);
  const follow = (): TopicReader =>
    followTable({
      ...{ kafka, codec, log, topic: topic<RowTopic>(name), record: name },
      apply: applyTo(table),
    });
  let reader: TopicReader | undefined;
  const reported = new Map<string, { what: string; at: number }>();
  const producer = lazyProducer(kafka);
  const send = async (values: readonly { arm: string; value: Buffer | null }[]): Promise<void> => {
    if (values.length === 0) return;
    await producer.send(
      values.map(({ arm, value }) => ({ topic: topic<RowTopic>(name), key: `${arm}/${instance}`, value })),
    );
  };

  const pass = async (): Promise<void> => {
    const now = Date.now();
    if (follows()) reader ??= follow();
    const changed = [...own()].flatMap(([arm, row]) => {
      const what = JSON.stringify(row);
      const last = reported.get(arm);
      const due = last === undefined ? !isIdle(row) : what !== last.what || (!isIdle(row) && now - last.at >= renewMs);
      return due ? [{ arm, row, what }] : [];
    });
    await send(
      changed.map(({ arm, row }) => {
        const record = { ...row, arm, tenant: "default", instance, createdAt: now } as unknown as RecordOf[N];
        return { arm, value: codec.encode(name, record) };
      }),
    );
    for (const { arm, what } of changed) reported.set(arm, { what, at: now });
  };
  const publishing = repeating(pass, { everyMs, log });

  return {
    others: (arm) => table.others(arm, instance),
    async stop() {
      const goodbye = publishing.stop().then(() => send([...reported.keys()].map((arm) => ({ arm, value: null }))));
      await Promise.race([goodbye.catch(() => undefined), sleep(goodbyeMs)]);
      await Promise.all([producer.close(), reader?.stop()]);
    },
  };
}
