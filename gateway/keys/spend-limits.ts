// Whether a key has money left, a day and a month of UTC: spent by the account, plus what its
// requests under way may cost. Asked before a request is sent.
import {
  periods,
  standing,
  startOf,
  windowAt,
  type Period,
  type Spent,
} from "../../algorithms/queueing/spend-limit.ts";
import type { ApiKey, Request } from "../../schemas/types.ts";
import { ApiError } from "../errors.ts";
import { accountOf } from "./key.ts";
import type { Spending } from "./spending.ts";

export type SpendLimited = Pick<ApiKey, "id" | "account" | "spendLimitPerDay" | "spendLimitPerMonth">;

export type HeldRequest = Pick<Request, "messages" | "documents" | "passthrough" | "allow" | "params"> & {
  id: string;
};

/** Holds what the request may cost; resolves to its release. ApiError: nothing is left. */
export type HoldSpending = (key: SpendLimited, request: HeldRequest) => Promise<() => void>;

export interface SpendLimitsDependencies {
  spending: Pick<Spending, "of" | "hold" | "release">;
  mostCost: (request: HeldRequest) => number;
  /** So long it may be under way. */
  mostMs: (request: HeldRequest) => number;
  now: () => number;
}

interface SpendLimit {
  period: Period;
  amount: number;
}

export function createSpendLimits({ spending, mostCost, mostMs, now }: SpendLimitsDependencies): HoldSpending {
  return async function holdSpending(key, request) {
    const limits = spendLimitsOf(key);
    // Nothing that goes wrong here touches keys without one.
    if (limits.length === 0) return () => undefined;
    const account = accountOf(key);
    const spentIn = await spending.of(account);
    if (spentIn === null) throw unknown();
    const at = now();
    const cost = mostCost(request);
    const found = limits.map((limit) => {
      const window = windowAt(limit.period, at);
      const spent = spentIn(window);
      return { ...limit, spent, resets: startOf(window.next), standing: standing(limit.amount, spent, cost) };
    });
    // If both limits are used up, report the one that resets later.
    const usedUp = found.findLast(({ standing: one }) => one === "used_up");
    if (usedUp !== undefined) throw insufficient(usedUp, at);
    if (found.some(({ standing: one }) => one === "share_used_up")) throw unknown();
    if (found.some(({ standing: one }) => one === "held")) throw underWay();
    // Nothing was awaited since what is held was read.
    if (cost > 0) spending.hold(account, request.id, cost, at + mostMs(request));
    return () => spending.release(account, request.id);
  };
}

/** The day's before the month's. */
const spendLimitsOf = ({ spendLimitPerDay, spendLimitPerMonth }: SpendLimited): SpendLimit[] => {
  const amounts: Record<Period, number | null> = { day: spendLimitPerDay, month: spendLimitPerMonth };
  return periods.flatMap((period) => {
    const amount = amounts[period];
    return amount === null ? [] : [{ period, amount }];
  });
};

const money = (amount: number): string => String(Number(amount.toPrecision(6)));

function insufficient({ period, amount, spent, resets }: SpendLimit & { spent: Spent; resets: number }, at: number) {
  const when = new Date(resets).toISOString();
  return new ApiError({
    ...{ status: 429, code: "insufficient_quota", retryAfter: Math.max(1, Math.ceil((resets - at) / 1_000)) },
    headers: { "x-precedent-spend-limit-resets": when, "x-should-retry": "false" },
    message: `The spend limit of this key is used up: ${money(spent.recorded + spent.own)} of ${money(amount)} a ${period} is spent. It is whole again at ${when}.`,
  });
}

const underWay = (): ApiError =>
  new ApiError({
    ...{ status: 429, code: "spend_limit_held", retryAfter: 1 },
    message: "What is left of this key's spend limit may be used up by its requests under way: try again.",
  });
const unknown = (): ApiError =>
  new ApiError({
    ...{ status: 503, code: "spend_limit_unknown", retryAfter: 2 },
    message: "What this key has spent can't be read now, and it has a spend limit: try again.",
  });
