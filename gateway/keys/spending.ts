// What accounts have spent: ClickHouse's costs, read about every second while in use, this
// gateway's newer answers, and holds. Only an account's first request waits; one query at a time.
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import {
  chargedCost,
  costIn,
  dayOf,
  windowAt,
  type Spent,
  type Window,
} from "../../algorithms/queueing/spend-limit.ts";
import { createUnrecorded, type Unrecorded } from "../../algorithms/queueing/unrecorded-costs.ts";
import type { Response } from "../../schemas/types.ts";
import type { AccountCost } from "./account-costs.ts";
import { withTimeout } from "../../runtime/with-timeout.ts";
import { createHeldCosts, type HeldCosts } from "./held-costs.ts";

export interface SpendingDependencies {
  /** From the day `since` on. Rejects while it can't be read. */
  read: (accounts: readonly string[], since: number) => Promise<readonly AccountCost[]>;
  /** How many gateways there are, which share what is left while it can't be read. */
  gateways: () => number;
  now: () => number;
  clock: () => number;
  log: Pick<Logger, "warn" | "info">;
  /** Accounts whose sums are held; the one that was longest not asked for goes. */
  mostAccounts?: number;
}

export type Spending = ReturnType<typeof createSpending>;

const readEveryMs = 1_000;
/** What was read longer ago says too little of the other gateways. */
const staleAfterMs = 5_000;
/** The days before yesterday are read again so often, for records that came late. */
const fullReadEveryMs = 600_000;
const waitMs = 5_000;

interface Account {
  name: string;
  /** By day, and what of them was not read yet. */
  recorded: Map<number, number>;
  unrecorded: Unrecorded;
  underWay: HeldCosts;
  /** When that began, by `clock`; absent: never. */
  triedAt?: number;
  readAt?: number;
  fullReadAt?: number;
  reading?: Promise<void> | undefined;
}

export function createSpending(dependencies: SpendingDependencies) {
  const { read, gateways, now, clock, log, mostAccounts = 10_000 } = dependencies;
  const accounts = new LRUCache<string, Account>({ max: mostAccounts });
  let isAway = false;
  let turn: Promise<void> = Promise.resolve();
  let due: Account[] = [];

  const held = (name: string): Account => {
    const known = accounts.get(name) ?? {
      ...{ name, recorded: new Map<number, number>(), unrecorded: createUnrecorded(), underWay: createHeldCosts() },
    };
    accounts.set(name, known);
    return known;
  };
  const passed = (since: number | undefined): number => clock() - (since ?? -Infinity);

  /** Those that are due, in the query after the one under way. */
  function refresh(account: Account): Promise<void> {
    account.triedAt = clock();
    due.push(account);
    if (due.length === 1)
      turn = turn.then(() => {
        const some = due;
        due = [];
        return readAll(some);
      });
    account.reading = turn.finally(() => (account.reading = undefined));
    return account.reading;
  }

  async function readAll(some: readonly Account[]): Promise<void> {
    const began = clock();
    const isComplete = some.some(({ fullReadAt }) => passed(fullReadAt) >= fullReadEveryMs);
    const { first } = windowAt("month", now());
    const since = isComplete ? first : Math.max(first, dayOf(now()) - 1);
    try {
      const names = some.map(({ name }) => name);
      const rows = await withTimeout(waitMs, read(names, since));
      if (rows === undefined) throw new Error(`no answer within ${waitMs} ms`);
      for (const account of some) {
        drop(account, since);
        account.readAt = began;
        if (isComplete) account.fullReadAt = began;
      }
      const byName = new Map(some.map((account) => [account.name, account]));
      for (const row of rows) add(byName.get(row.account), row);
      if (isAway) log.info("ClickHouse is back: what keys have spent is read again");
      isAway = false;
    } catch (error) {
      if (!isAway) log.warn({ err: error }, "ClickHouse is away: spend limits of keys go on with what was read last");
      isAway = true;
    }
  }

  /** What is read again, and what no spend limit counts any more. */
  function drop({ recorded }: Account, since: number): void {
    const month = windowAt("month", now()).first;
    for (const day of recorded.keys()) if (day >= since || day < month) recorded.delete(day);
  }
  function add(account: Account | undefined, { day, cost, partition, offset }: AccountCost): void {
    account?.recorded.set(day, (account.recorded.get(day) ?? 0) + cost);
    account?.unrecorded.recorded(partition, offset);
  }

  function spent({ recorded, unrecorded, underWay, readAt }: Account, window: Window): Spent {
    return {
      recorded: costIn(
        window,
        [...recorded].map(([day, cost]) => ({ day, cost })),
      ),
      own: unrecorded.costIn(window),
      held: underWay.sum(now()),
      sharers: passed(readAt) < staleAfterMs ? 1 : gateways(),
      holders: gateways(),
    };
  }

  return {
    /** Spending of an account; resolves to null where it was never read, and can't be. */
    async of(name: string): Promise<((window: Window) => Spent) | null> {
      const account = held(name);
      if (account.reading === undefined && passed(account.triedAt) >= readEveryMs) void refresh(account);
      if (account.readAt === undefined && account.reading !== undefined) await withTimeout(waitMs, account.reading);
      return account.readAt === undefined ? null : (window) => spent(account, window);
    },
    /**
     * A request begins that may cost so much, until it is answered, released, or the time comes.
     */
    hold: (account: string, request: string, cost: number, until: number): void =>
      held(account).underWay.hold(request, cost, until),
    /** It was not sent, or needs to be held no more. */
    release: (account: string, request: string): void => accounts.peek(account)?.underWay.release(request),
    answered(response: Response, { partition, offset }: { partition: number; offset: number }): void {
      // An account without a spend limit has no entry.
      const account = response.account === null ? undefined : accounts.peek(response.account);
      if (account === undefined) return;
      account.underWay.release(response.requestId);
      const charged = chargedCost(response);
      if (charged !== null)
        account.unrecorded.add(partition, offset, { day: dayOf(response.createdAt), cost: charged.cost });
    },
  };
}
