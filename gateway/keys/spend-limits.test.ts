import pino from "pino";
import { describe, expect, it } from "vitest";
import { dayOf } from "../../algorithms/queueing/spend-limit.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { ApiKey, Response } from "../../schemas/types.ts";
import type { AccountCost } from "./account-costs.ts";
import { errorBody, errorHeaders, type ApiError } from "../errors.ts";
import { aResponse } from "../responses.testing.ts";
import { createSpendLimits } from "./spend-limits.ts";
import { plainKey } from "./key.testing.ts";
import { createSpending } from "./spending.ts";

const noon = Date.UTC(2026, 10, 30, 12);
const day = dayOf(noon);
const account = "prk-a";
const key = (change: Partial<ApiKey>) => plainKey({ id: account, ...change });

/** A gateway with a clock of its own before a table that is played. */
function gatewayWith(rows: AccountCost[], mostAccounts = 10) {
  const state = {
    now: noon,
    gateways: 1,
    isAway: false,
    reads: [] as { accounts: readonly string[]; since: number }[],
  };
  const spending = createSpending({
    async read(accounts, since) {
      await Promise.resolve();
      state.reads.push({ accounts, since });
      if (state.isAway) throw new Error("away");
      return rows.filter((row) => accounts.includes(row.account) && row.day >= since);
    },
    ...{ gateways: () => state.gateways, now: () => state.now, clock: () => state.now },
    ...{ log: pino({ level: "silent" }), mostAccounts },
  });
  const holdSpending = createSpendLimits({
    ...{ spending, mostCost: ({ params }) => params.maxTokens ?? 0, mostMs: () => 60_000, now: () => state.now },
  });
  /** The start of a request that may cost so much. */
  const begin = (change: Partial<ApiKey>, id: string, cost: number) =>
    holdSpending(key(change), plainRequest("hello", { id, params: { ...free.params, maxTokens: cost } }));
  const mustHaveLeft = (one: ApiKey): Promise<void> => holdSpending(one, free).then(() => undefined);
  let offset = 100;
  return {
    ...{ state, mustHaveLeft, begin },
    /** An answer comes to this gateway. */
    answered: (cost: number, place = ++offset, change: Partial<Response> = {}) =>
      spending.answered(aResponse({ account, cost, createdAt: state.now, ...change }), { partition: 0, offset: place }),
    /** So much later that it is read again; what is read then is there afterwards. */
    async later(change: Partial<ApiKey>, ms = 1_000) {
      state.now += ms;
      await mustHaveLeft(key(change)).catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
const row = (cost: number, change: Partial<AccountCost> = {}): AccountCost => ({
  ...{ account, day, partition: 0, offset: 50, cost },
  ...change,
});
const free = plainRequest("hello", { id: "free" });
const held = expect.objectContaining({ status: 429, code: "spend_limit_held", retryAfter: 1 }) as unknown;
const usedUp = expect.objectContaining({ status: 429, code: "insufficient_quota" }) as unknown;
const unknown = expect.objectContaining({ status: 503, code: "spend_limit_unknown", retryAfter: 2 }) as unknown;

describe("a spend limit that is used up", () => {
  it("is refused in OpenAI's words, until the day is over, and not to be tried again", async () => {
    const { mustHaveLeft } = gatewayWith([row(2.5)]);
    await mustHaveLeft(key({ spendLimitPerDay: 2.6 }));
    const error = (await mustHaveLeft(key({ spendLimitPerDay: 2.5 })).catch((cause: unknown) => cause)) as ApiError;
    expect(error).toEqual(usedUp);
    expect(errorBody(error).error).toMatchObject({ type: "insufficient_quota", code: "insufficient_quota" });
    expect(error.message).toContain("2.5 of 2.5 a day is spent. It is whole again at 2026-12-01T00:00:00.000Z");
    expect(errorHeaders(error)).toEqual({
      "retry-after": "43200",
      "x-precedent-spend-limit-resets": "2026-12-01T00:00:00.000Z",
      "x-should-retry": "false",
    });
  });

  it("is the month's where both are; days before this month count to neither", async () => {
    const rows = [row(3, { day: day - 1 }), row(50, { day: dayOf(Date.UTC(2026, 9, 31)) }), row(1)];
    const { mustHaveLeft } = gatewayWith(rows);
    await mustHaveLeft(key({ spendLimitPerDay: 1.1, spendLimitPerMonth: 4.1 }));
    await expect(mustHaveLeft(key({ spendLimitPerDay: 1, spendLimitPerMonth: 4.1 }))).rejects.toThrow("1 of 1 a day");
    await expect(mustHaveLeft(key({ spendLimitPerDay: 1, spendLimitPerMonth: 4 }))).rejects.toThrow("4 of 4 a month");
  });

  it("is whole again when the day turns over, the month's when that does", async () => {
    const { state, mustHaveLeft } = gatewayWith([row(5), row(5, { day: day - 1 })]);
    state.now = noon - 86_400_000;
    await expect(mustHaveLeft(key({ spendLimitPerDay: 5 }))).rejects.toEqual(usedUp);
    state.now = Date.UTC(2026, 10, 30) - 1;
    await expect(mustHaveLeft(key({ spendLimitPerDay: 5 }))).rejects.toMatchObject({ retryAfter: 1 });
    const { state: later, mustHaveLeft: afterwards } = gatewayWith([row(5)]);
    await expect(afterwards(key({ spendLimitPerDay: 5 }))).rejects.toEqual(usedUp);
    later.isAway = true;
    later.now = Date.UTC(2026, 11, 1);
    await afterwards(key({ spendLimitPerDay: 5, spendLimitPerMonth: 5 }));
  });

  it("is what its rotated keys have spent together", async () => {
    const { mustHaveLeft } = gatewayWith([row(5)]);
    await expect(mustHaveLeft(key({ id: "prk-new", account, spendLimitPerDay: 5 }))).rejects.toEqual(usedUp);
    await mustHaveLeft(key({ id: "prk-other", spendLimitPerDay: 5 }));
  });
});

describe("what was spent", () => {
  it("is known at once of this gateway's own answers, and counted once when they are recorded", async () => {
    const rows = [row(1)];
    const { mustHaveLeft, answered, later } = gatewayWith(rows);
    const limit = { spendLimitPerDay: 3 };
    await mustHaveLeft(key(limit));
    answered(1, 101);
    answered(0.9, 102);
    answered(0.9, 102);
    await mustHaveLeft(key(limit));
    // Both are recorded; a third one is not yet.
    rows.push(row(1.9, { offset: 102 }));
    await later(limit);
    await mustHaveLeft(key(limit));
    answered(0.1, 103);
    await expect(mustHaveLeft(key(limit))).rejects.toEqual(usedUp);
    await expect(mustHaveLeft(key({ spendLimitPerDay: 3.01 }))).resolves.toBeUndefined();
  });

  it("is read once a second at most, and no request waits for the next read", async () => {
    const { state, mustHaveLeft } = gatewayWith([]);
    for (let i = 0; i < 50; i++) await mustHaveLeft(key({ spendLimitPerDay: 1 }));
    expect(state.reads).toHaveLength(1);
    state.now += 1_000;
    await Promise.all(Array.from({ length: 50 }, () => mustHaveLeft(key({ spendLimitPerDay: 1 }))));
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.reads).toEqual([
      { accounts: [account], since: dayOf(Date.UTC(2026, 10, 1)) },
      { accounts: [account], since: day - 1 },
    ]);
  });

  it("is read in one query for all that are due, and for the accounts used last alone", async () => {
    const { state, mustHaveLeft } = gatewayWith([], 3);
    const ask = (id: number) => mustHaveLeft(key({ id: `prk-${id}`, spendLimitPerDay: 1 }));
    await Promise.all([0, 1, 2].map(ask));
    expect(state.reads.map(({ accounts }) => accounts)).toEqual([["prk-0", "prk-1", "prk-2"]]);
    await ask(3);
    await ask(2);
    expect(state.reads).toHaveLength(2);
    await ask(0);
    expect(state.reads).toHaveLength(3);
  });

  it("of keys without a spend limit is not looked at", async () => {
    const { state, mustHaveLeft, answered } = gatewayWith([row(1e9)]);
    state.isAway = true;
    answered(1e9);
    await mustHaveLeft(key({}));
    expect(state.reads).toEqual([]);
  });
});

describe("what is under way", () => {
  const limit = { spendLimitPerDay: 10 };

  it("is held by what it may cost, until it is answered for what it did", async () => {
    const { begin, answered } = gatewayWith([row(1)]);
    await begin(limit, "a", 4);
    await begin(limit, "b", 4);
    await expect(begin(limit, "c", 2)).rejects.toEqual(held);
    await begin(limit, "c", 1);
    answered(0.5, 101, { requestId: "a" });
    await expect(begin(limit, "d", 3.6)).rejects.toEqual(held);
    await begin(limit, "d", 3.5);
    // A copy, or an answer from the cache, costs nothing and holds nothing.
    answered(0, 102, { requestId: "b", duplicate: true });
    await begin(limit, "e", 4);
  });

  it("is held no more once it is given back, or its time is over", async () => {
    const { state, begin } = gatewayWith([row(1)]);
    const giveBack = await begin(limit, "a", 8);
    await expect(begin(limit, "b", 2)).rejects.toEqual(held);
    giveBack();
    await begin(limit, "b", 9);
    await expect(begin(limit, "c", 1)).rejects.toEqual(held);
    state.now += 60_000;
    await begin(limit, "c", 1);
  });

  it("alone may always begin: one that may cost more than is left is served, and the next one is not beside it", async () => {
    const { begin, answered } = gatewayWith([row(9.5)]);
    await begin(limit, "a", 400);
    await expect(begin(limit, "b", 0.1)).rejects.toEqual(held);
    answered(0.4, 101, { requestId: "a" });
    await begin(limit, "b", 400);
    answered(0.2, 102, { requestId: "b" });
    await expect(begin(limit, "c", 0)).rejects.toEqual(usedUp);
  });

  it("of all gateways shares what is left", async () => {
    const { state, begin } = gatewayWith([row(2)]);
    state.gateways = 4;
    await begin(limit, "a", 1.5);
    await expect(begin(limit, "b", 0.6)).rejects.toEqual(held);
    await begin(limit, "b", 0.5);
  });

  it("holds nothing of keys without a spend limit", async () => {
    const { begin } = gatewayWith([]);
    for (let i = 0; i < 10; i++) await begin({}, `r${i}`, 1e9);
    await begin(limit, "a", 10);
  });
});

describe("while ClickHouse is away", () => {
  it("a gateway that never knew refuses for now, and asks again after a second", async () => {
    const { state, mustHaveLeft } = gatewayWith([]);
    state.isAway = true;
    for (let i = 0; i < 3; i++) await expect(mustHaveLeft(key({ spendLimitPerDay: 1 }))).rejects.toEqual(unknown);
    expect(state.reads).toHaveLength(1);
    state.isAway = false;
    state.now += 1_000;
    await mustHaveLeft(key({ spendLimitPerDay: 1 }));
  });

  it("one that knows goes on with its share of what was left, which is no used-up spend limit", async () => {
    const { state, mustHaveLeft, answered, later } = gatewayWith([row(2)]);
    const limit = { spendLimitPerDay: 10 };
    state.gateways = 4;
    await mustHaveLeft(key(limit));
    state.isAway = true;
    await later(limit, 6_000);
    answered(1.9);
    await mustHaveLeft(key(limit));
    answered(0.1);
    await expect(mustHaveLeft(key(limit))).rejects.toEqual(unknown);
    state.isAway = false;
    await later(limit);
    await mustHaveLeft(key(limit));
    state.isAway = true;
    answered(6);
    await expect(mustHaveLeft(key(limit))).rejects.toEqual(usedUp);
  });
});
