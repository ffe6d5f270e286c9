// Whether a key has money left: its budgets a day and a month, of UTC, against what its account has
// spent. Asked before a request is sent; what the answer costs counts afterwards.
import { periods, standing, startOf, windowAt, type Period, type Spent } from "../../algorithms/budget.ts";
import type { ApiKey } from "../../schemas/types.ts";
import { ApiError } from "../errors.ts";
import { accountOf } from "./key.ts";
import type { Spending } from "./spending.ts";

export type Budgeted = Pick<ApiKey, "id" | "account" | "budgetPerDay" | "budgetPerMonth">;

/** Rejects with ApiError where nothing is left of a key's budgets, or nobody knows. */
export type MustHaveLeft = (key: Budgeted) => Promise<void>;

export interface BudgetsDependencies {
  spending: Pick<Spending, "of">;
  /** Milliseconds since the epoch. */
  now: () => number;
}

interface Budget {
  period: Period;
  amount: number;
}

export function createBudgets({ spending, now }: BudgetsDependencies): MustHaveLeft {
  return async function mustHaveLeft(key) {
    const budgets = budgetsOf(key);
    // Nothing that goes wrong here touches keys without one.
    if (budgets.length === 0) return;
    const spentIn = await spending.of(accountOf(key));
    if (spentIn === null) throw unknown();
    const at = now();
    const found = budgets.map((budget) => {
      const window = windowAt(budget.period, at);
      const spent = spentIn(window);
      return { ...budget, spent, resets: startOf(window.next), standing: standing(budget.amount, spent) };
    });
    // Of two that are used up, the one that stays so for longer.
    const usedUp = found.findLast(({ standing: one }) => one === "used_up");
    if (usedUp !== undefined) throw insufficient(usedUp, at);
    if (found.some(({ standing: one }) => one === "share_used_up")) throw unknown();
  };
}

/** The day's before the month's. */
const budgetsOf = ({ budgetPerDay, budgetPerMonth }: Budgeted): Budget[] => {
  const amounts: Record<Period, number | null> = { day: budgetPerDay, month: budgetPerMonth };
  return periods.flatMap((period) => {
    const amount = amounts[period];
    return amount === null ? [] : [{ period, amount }];
  });
};

const money = (amount: number): string => String(Number(amount.toPrecision(6)));

function insufficient({ period, amount, spent, resets }: Budget & { spent: Spent; resets: number }, at: number) {
  const when = new Date(resets).toISOString();
  return new ApiError({
    ...{ status: 429, code: "insufficient_quota", retryAfter: Math.max(1, Math.ceil((resets - at) / 1_000)) },
    headers: { "x-precedent-budget-resets": when, "x-should-retry": "false" },
    message: `The budget of this key is used up: ${money(spent.recorded + spent.own)} of ${money(amount)} a ${period} is spent. It is whole again at ${when}.`,
  });
}

const unknown = (): ApiError =>
  new ApiError({
    ...{ status: 503, code: "budget_unknown", retryAfter: 2 },
    message: "What this key has spent can't be read now, and it has a budget: try again.",
  });
