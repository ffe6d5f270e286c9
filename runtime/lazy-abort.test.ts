import { expect, test } from "vitest";
import { LazyAbort, signalOf } from "./lazy-abort.ts";

test("its signal says what it says, whether it is made before the end or after", () => {
  const reason = new Error("enough");
  const before = new LazyAbort();
  const { signal } = before;
  expect([before.aborted, signal.aborted]).toEqual([false, false]);
  before.abort(reason);
  expect([before.aborted, before.reason, signal.aborted, signal.reason]).toEqual([true, reason, true, reason]);
  expect(before.signal).toBe(signal);

  const after = new LazyAbort();
  after.abort(reason);
  expect([after.signal.aborted, after.signal.reason]).toEqual([true, reason]);
});

test("it ends once, and tells who listens still, once", () => {
  const ends = new LazyAbort();
  const reported: string[] = [];
  const left = (): void => void reported.push("left");
  ends.addEventListener("abort", () => reported.push(`one, ${String(ends.aborted)}`));
  ends.addEventListener("abort", left);
  ends.addEventListener("abort", () => reported.push("two"));
  ends.removeEventListener("abort", left);
  ends.removeEventListener("abort", left);
  ends.abort("first");
  ends.abort("second");
  expect([reported, ends.reason]).toEqual([["one, true", "two"], "first"]);
  // As with a signal: who comes late asks.
  ends.addEventListener("abort", left);
  ends.abort("third");
  expect(reported).toHaveLength(2);
});

test("a signal may stand for it", () => {
  const { signal } = new AbortController();
  expect(signalOf(signal)).toBe(signal);
  const ends = new LazyAbort();
  expect(signalOf(ends)).toBe(ends.signal);
});
