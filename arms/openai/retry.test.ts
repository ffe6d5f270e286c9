import { expect, it } from "vitest";
import type { Problem } from "./errors.ts";
import { nextCall, retryWaitMs, type RetryState } from "./retry.ts";

const problem = (more: Partial<Problem> = {}): Problem => ({
  ...{ code: "endpoint_unavailable", message: "The endpoint failed.", retriable: true, retryAfterMs: null },
  ...more,
});
const replicas = (isLeft: boolean, hasOther: boolean) => ({ isLeft: () => isLeft, hasOther: () => hasOther });
const unreachable = problem({ unreachable: true });
const rejected = problem({ retriable: false });

it.each<[string, Problem, boolean, boolean, boolean, { movesOn: boolean; hasOther: boolean }]>([
  ["no response, another replica untried", unreachable, true, true, false, { movesOn: true, hasOther: true }],
  ["no response, all tried", unreachable, true, false, false, { movesOn: false, hasOther: false }],
  ["no response from a replica tried before", unreachable, false, true, true, { movesOn: false, hasOther: true }],
  ["the arm's failure, another one healthy", problem(), true, true, true, { movesOn: false, hasOther: true }],
  ["the arm's failure, the other one is not", problem(), true, true, false, { movesOn: false, hasOther: false }],
  ["the request's failure", rejected, true, true, true, { movesOn: false, hasOther: false }],
])("where the next call goes: %s", (_what, one, isNew, isLeft, isHealthy, expected) => {
  expect(nextCall(one, isNew, replicas(isLeft, isHealthy), new Set())).toEqual(expected);
});

const state = (more: Partial<RetryState>): RetryState => ({
  ...{ problem: problem(), next: { movesOn: false, hasOther: false }, mayRetry: true },
  ...{ backoffMs: () => 700, random: () => 0.5, ...more },
});
it.each<[string, Partial<RetryState>, number | null]>([
  ["its own back-off", {}, 700],
  ["what the endpoint asks for, with jitter", { problem: problem({ retryAfterMs: 2_000 }) }, 2_125],
  ["no time for another replica", { next: { movesOn: false, hasOther: true } }, 0],
  ["no call without retries left", { mayRetry: false }, null],
  [
    "no call without retries left, a healthy replica or not",
    { mayRetry: false, next: { movesOn: false, hasOther: true } },
    null,
  ],
  ["no time for an untried replica after no response", { mayRetry: false, next: { movesOn: true, hasOther: true } }, 0],
  ["no call for what fails again", { problem: rejected }, null],
  ["no call where the endpoint asks for more than five minutes", { problem: problem({ retryAfterMs: 300_001 }) }, null],
])("how long it waits: %s", (_what, more, expected) => {
  expect(retryWaitMs(state(more))).toBe(expected);
});
