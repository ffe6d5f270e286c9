// Spend limits a day and a month, of UTC: which days count, what was spent in them, and whether
// anything is left. Pure: the time is passed in.
import type { Response } from "../../schemas/types.ts";

const dayMs = 86_400_000;

export const dayOf = (milliseconds: number): number => Math.floor(milliseconds / dayMs);

export const startOf = (day: number): number => day * dayMs;

export const periods = ["day", "month"] as const;
export type Period = (typeof periods)[number];

/** Days from `first` on and before `next`, when the spend limit is whole again. */
export interface Window {
  first: number;
  next: number;
}

/** `at` in milliseconds since the epoch. */
export function windowAt(period: Period, at: number): Window {
  if (period === "day") return { first: dayOf(at), next: dayOf(at) + 1 };
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { first: dayOf(Date.UTC(year, month)), next: dayOf(Date.UTC(year, month + 1)) };
}

export interface DayCost {
  day: number;
  cost: number;
}

export function costIn({ first, next }: Window, costs: Iterable<DayCost>): number {
  let sum = 0;
  for (const { day, cost } of costs) if (day >= first && day < next) sum += cost;
  return sum;
}

export interface Spent {
  /** By all, when that was last read. */
  recorded: number;
  own: number;
  /** What those of who asks that are under way may cost at most. */
  held: number;
  /** How many share what was left then: 1 while what the others spend is read in time. */
  sharers: number;
  /** How many may have requests under way that the others don't know of. */
  holders: number;
}

export type Standing = "left" | "held" | "share_used_up" | "used_up";

/**
 * Whether a request of at most `next` may begin. used_up, share_used_up: the limit is, or may be.
 * held: by those under way. A request alone may begin where anything is left. NaN is used up.
 */
export function standing(limit: number, { recorded, own, held, sharers, holders }: Spent, next: number): Standing {
  if (!(recorded + own < limit)) return "used_up";
  const left = limit - recorded;
  if (!(own < left / Math.max(1, sharers))) return "share_used_up";
  return held === 0 || own + held + next <= left / Math.max(1, holders) ? "left" : "held";
}

/** Account and cost that a response is charged to; null: no charge. */
export function chargedCost(
  response: Pick<Response, "account" | "duplicate" | "cost">,
): { account: string; cost: number } | null {
  const { account, duplicate, cost } = response;
  // A copy cost nothing; a cost that is no number would make every sum none.
  const isCharged = account !== null && account !== "" && !duplicate && cost > 0 && Number.isFinite(cost);
  return isCharged ? { account, cost } : null;
}
