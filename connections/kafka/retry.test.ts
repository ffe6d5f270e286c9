import { afterEach, expect, it, vi } from "vitest";
import { untilReachable } from "./retry.ts";

afterEach(() => vi.restoreAllMocks());

it("says what it waits for and why when it takes long, and not each time", async () => {
  const log = { warn: vi.fn(), debug: vi.fn() };
  // Each look at the clock is a second later.
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 1_000));
  let attempts = 0;
  const refused = new Error("Not authorized to access topics");
  const attempt = () => (++attempts < 6 ? Promise.reject(refused) : Promise.resolve("there"));
  expect(await untilReachable(attempt, { log, topic: "acme.decisions" })).toBe("there");
  expect(log.warn.mock.calls).toEqual([[{ err: refused, topic: "acme.decisions" }, expect.any(String)]]);
  expect(log.debug).toHaveBeenCalledTimes(4);
});

it("ends when it is stopped", async () => {
  const log = { warn: vi.fn(), debug: vi.fn() };
  let stopped = false;
  const attempt = () => {
    stopped = true;
    return Promise.reject(new Error("away"));
  };
  expect(await untilReachable(attempt, { log, stopped: () => stopped })).toBeUndefined();
});

it("ends with what the broker refuses, for a caller that asks for that", async () => {
  const log = { warn: vi.fn(), debug: vi.fn() };
  const refused = new Error("Not authorized to access topics");
  let attempts = 0;
  const attempt = () => Promise.reject(++attempts < 3 ? new Error("away") : refused);
  await expect(untilReachable(attempt, { log, endsOnRefusal: true })).rejects.toBe(refused);
  expect(attempts).toBe(3);
});
