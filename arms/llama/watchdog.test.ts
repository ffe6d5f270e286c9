import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createWatchdog } from "./watchdog.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("barks when there is work and no progress, and only then", () => {
  let busy = false;
  const onStall = vi.fn();
  const watchdog = createWatchdog(1_000, () => busy, onStall);
  vi.advanceTimersByTime(5_000);
  busy = true;
  for (let i = 0; i < 10; i++) {
    vi.advanceTimersByTime(900);
    watchdog.progress();
  }
  expect(onStall).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1_100);
  expect(onStall).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1_100);
  expect(onStall).toHaveBeenCalledTimes(2);
  watchdog.stop();
  vi.advanceTimersByTime(5_000);
  expect(onStall).toHaveBeenCalledTimes(2);
});
