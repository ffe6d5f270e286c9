// Looks for hanging transactions in the group's offsets and the stage's topics. At the second look
// one is ended as recorded; one that can't be is logged once and makes the stage unhealthy.
import type { Logger } from "pino";
import type { HangingSearch, HangingTransaction, Kafka } from "../connections/kafka/port.ts";

export interface HangingWatchOptions {
  kafka: Pick<Kafka, "hangingTransactions" | "endTransactions">;
  search: () => HangingSearch;
  log: Logger;
  /** Several transaction timeouts: no other process ends what is open at two looks. */
  everyMs?: number;
}

export type HangingWatch = ReturnType<typeof watchHanging>;

const keyOf = ({ topic, partition, producerId, openSince }: HangingTransaction): string =>
  [topic, partition, producerId, openSince].join("/");

export function watchHanging({ kafka, search, log, everyMs = 15_000 }: HangingWatchOptions) {
  let before = new Set<string>();
  let problems = new Map<string, string>();
  let looking = false;

  const look = async (): Promise<void> => {
    const found = await kafka.hangingTransactions(search());
    const again = found.filter((transaction) => before.has(keyOf(transaction)));
    before = new Set(found.map(keyOf));
    const still = new Map<string, string>();
    // A refused transaction is not tried again; the stage is healthy once it is gone.
    const tried = again.filter((transaction) => problems.has(keyOf(transaction)));
    for (const key of tried.map(keyOf)) still.set(key, problems.get(key) ?? "");
    const fresh = again.filter((transaction) => !problems.has(keyOf(transaction)));
    const results = fresh.length === 0 ? [] : await kafka.endTransactions(fresh);
    for (const { transaction, refused } of results) {
      if (refused === undefined) log.warn(transaction, "a transaction hung: ended as its coordinator recorded it");
      else {
        const { topic, partition, transactionalId = "unknown", remedy } = transaction;
        log.error({ ...transaction, refused }, "a transaction hangs, and readers with it");
        still.set(keyOf(transaction), `a transaction of ${transactionalId} hangs in ${topic}-${partition}: ${remedy}`);
      }
    }
    problems = still;
  };

  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    look()
      .catch((error: unknown) => log.debug({ err: error }, "hanging transactions can't be looked for now"))
      .finally(() => (looking = false));
  }, everyMs);
  timer.unref();
  return {
    /** What hangs and can't be ended by us; none as a rule. */
    problems: (): readonly string[] => [...problems.values()],
    stop: (): void => clearInterval(timer),
  };
}
