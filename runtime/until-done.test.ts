import { expect, test } from "vitest";
import { untilDone } from "./until-done.ts";

const waits = { first: 1, limit: 2 };
const failing = (): Promise<never> => Promise.reject(new Error("away"));

test("repeats work until it succeeds, with growing waits", async () => {
  const waited: number[] = [];
  const { signal } = new AbortController();
  const work = () => (waited.length < 3 ? failing() : Promise.resolve("done"));
  const done = untilDone(work, { waits, signal, onFailure: (_, retryInMs) => waited.push(retryInMs) });
  expect(await done).toBe("done");
  expect(waited).toEqual([1, 2, 2]);
});

test("ends with its signal: before an attempt, in it, and between two", async () => {
  const ended = new Error("ended");
  const aborted = AbortSignal.abort(ended);
  await expect(untilDone(() => Promise.resolve(1), { waits, signal: aborted })).rejects.toBe(ended);

  const within = new AbortController();
  const work = (): Promise<never> => {
    within.abort(ended);
    return failing();
  };
  await expect(untilDone(work, { waits, signal: within.signal })).rejects.toBe(ended);

  const between = new AbortController();
  const waiting = untilDone(failing, {
    waits: { first: 60_000, limit: 60_000 },
    signal: between.signal,
    onFailure: () => setImmediate(() => between.abort(ended)),
  });
  await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
});
