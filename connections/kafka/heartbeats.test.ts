import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createHeartbeats } from "./heartbeats.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work that ends on demand. */
function work() {
  let end: (value: string) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const promise = new Promise<string>((resolve, reject) => ([end, fail] = [resolve, reject]));
  return { promise, end, fail };
}

test("every batch under way beats until it ends, by one timer, and nothing beats afterwards", async () => {
  const beatDuring = createHeartbeats(1_000);
  const [one, other] = [work(), work()];
  const [beatOne, beatOther] = [vi.fn(), vi.fn()];
  const ended = beatDuring(beatOne, one.promise);
  const failed = beatDuring(beatOther, other.promise);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(2_000);
  expect([beatOne, beatOther].map(({ mock }) => mock.calls.length)).toEqual([2, 2]);

  one.end("done");
  expect(await ended).toBe("done");
  vi.advanceTimersByTime(1_000);
  expect([beatOne, beatOther].map(({ mock }) => mock.calls.length)).toEqual([2, 3]);

  other.fail(new Error("no"));
  await expect(failed).rejects.toThrow("no");
  vi.advanceTimersByTime(5_000);
  expect([beatOne, beatOther].map(({ mock }) => mock.calls.length)).toEqual([2, 3]);
  expect(vi.getTimerCount()).toBe(0);

  const again = work();
  const last = beatDuring(beatOne, again.promise);
  vi.advanceTimersByTime(1_000);
  again.end("again");
  expect(await last).toBe("again");
  expect(beatOne).toHaveBeenCalledTimes(3);
});
