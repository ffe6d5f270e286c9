import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Consumer } from "kafkajs";
import type { Logger } from "pino";
import { reviving } from "./reader.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("starts a reader again for as long as it takes, and does not say so each time", async () => {
  const log = { warn: vi.fn(), debug: vi.fn() };
  let crash: (event: object) => void = () => undefined;
  const consumer = { events: { CRASH: "crash" }, on: (_event: string, listener: typeof crash) => (crash = listener) };
  let starts = 0;
  const start = () => (++starts < 100 ? Promise.reject(new Error("Not authorized")) : Promise.resolve());
  reviving(consumer as unknown as Consumer, start, () => false, log as unknown as Logger);
  crash({ payload: { restart: false, error: new Error("Not authorized") } });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(starts).toBe(100);
  // The crash, and 3, 9 and 21 seconds later.
  expect(log.warn.mock.calls.map(([, message]) => message as string)).toEqual([
    "a reader crashed, starting it again",
    ...Array.from({ length: 4 }, () => "a reader can't start again yet"),
  ]);
});
