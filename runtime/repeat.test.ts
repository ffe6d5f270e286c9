import { pino } from "pino";
import { expect, it } from "vitest";
import { repeat } from "./repeat.ts";

it("goes on at once while there is more, through failures, and ends with its signal", async () => {
  const stop = new AbortController();
  const outcomes = [true, true, new Error("away"), new Error("away"), false, true];
  let passes = 0;
  await repeat(
    () => {
      const outcome = outcomes[passes++];
      if (outcome === undefined) stop.abort();
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome ?? false);
    },
    { everyMs: 1, maxBackoffMs: 4, signal: stop.signal, log: pino({ level: "silent" }) },
  );
  expect(passes).toBe(outcomes.length + 1);
});
