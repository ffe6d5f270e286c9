import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { LazyAbort } from "./lazy-abort.ts";
import { limitOf } from "./record-limit.ts";
import { Abandoned } from "./retrying.ts";
import { ok, type Ok } from "./step.ts";

const never = (): Promise<Ok<string>> => new Promise(() => undefined);

test("ends as the work does", async () => {
  const limit = limitOf(new LazyAbort(), 60_000);
  expect(await limit.outcome(() => Promise.resolve(ok("done")))).toEqual(ok("done"));
  limit.end();
  expect(limit.cancellation.aborted).toBe(false);
  await expect(limitOf(new LazyAbort(), 1).outcome(() => Promise.reject(new Error("a bug")))).rejects.toThrow("a bug");
});

test("work that was lost before it began is aborted at once, and abandoned", async () => {
  const lost = new LazyAbort();
  lost.abort(new Error("lost"));
  const limit = limitOf(lost, 60_000);
  let seen = false;
  const outcome = limit.outcome(() => {
    seen = limit.cancellation.aborted;
    return never();
  });
  await expect(outcome).rejects.toBeInstanceOf(Abandoned);
  limit.end();
  expect([seen, limit.cancellation.reason]).toEqual([true, lost.reason]);
});

test("after its end it aborts nothing any more", async () => {
  const lost = new LazyAbort();
  const limit = limitOf(lost, 5);
  await limit.outcome(() => Promise.resolve(ok("done")));
  limit.end();
  lost.abort(new Error("lost"));
  await sleep(10);
  expect(limit.cancellation.aborted).toBe(false);
});
