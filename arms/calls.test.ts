import { expect, it, vi } from "vitest";
import type { ArmRequest, ArmResult } from "./arm.ts";
import { createCalls, endedFailure } from "./calls.ts";
import { armRequest } from "./request.testing.ts";

const request = (requestId: string): ArmRequest => armRequest({ requestId, pieces: [] });

it("tells who finds no free slot, before its turn, and when all is over", async () => {
  const calls = createCalls(1);
  const reported: string[] = [];
  const going = new AbortController();
  const endings: (() => void)[] = [];
  const run = (id: string, signal = going.signal) =>
    calls.run(
      request(id),
      signal,
      (ending) => {
        reported.push(`${id} runs`);
        return new Promise<ArmResult>((resolve) => {
          endings.push(() => resolve(endedFailure(ending, 1)));
        });
      },
      (over) => {
        reported.push(`${id} waits`);
        over.addEventListener("abort", () => reported.push(`${id} is over`));
      },
    );
  const leaving = new AbortController();
  const all = [run("a"), run("b"), run("c", leaving.signal), run("d", AbortSignal.abort())];
  leaving.abort();
  expect(await all[2]).toMatchObject({ code: "cancelled", attempts: 0 });
  expect(reported).toEqual(["b waits", "c waits", "a runs", "c is over"]);
  while (endings.length > 0 || reported.at(-1) !== "b is over") {
    endings.shift()?.();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(all);
  expect(reported.slice(4)).toEqual(["b runs", "b is over"]);
  calls.close();
});

it("gives turns to tenants by their weights, not by arrival", async () => {
  const calls = createCalls(1, (tenant) => (tenant === "twice" ? 2 : 1));
  const begun: string[] = [];
  const run = (tenant: string, id: string): Promise<ArmResult> =>
    calls.run({ ...request(id), tenant }, new AbortController().signal, async (ending) => {
      begun.push(id);
      await new Promise((resolve) => setTimeout(resolve, 1));
      return endedFailure(ending, 1);
    });
  const flood = Array.from({ length: 8 }, (_, i) => run("flood", `f${i}`));
  await flood[0];
  const others = [...[0, 1].map((i) => run("other", `o${i}`)), ...[0, 1, 2, 3].map((i) => run("twice", `t${i}`))];
  await Promise.all(others);
  // All of the others are through when of the flood only its share is.
  expect(begun.filter((id) => id.startsWith("f")).length).toBeLessThanOrEqual(5);
  await Promise.all(flood);
  expect(begun).toHaveLength(14);
});

it("begins none after it was closed", async () => {
  const calls = createCalls(1);
  const signal = new AbortController().signal;
  const begun: string[] = [];
  const run = (id: string): Promise<ArmResult> =>
    calls.run(request(id), signal, (ending) => {
      begun.push(id);
      return new Promise((resolve) => ending.addEventListener("abort", () => resolve(endedFailure(ending, 1))));
    });
  const all = ["a", "b"].map(run);
  await new Promise((resolve) => setTimeout(resolve, 1));
  calls.close();
  expect((await Promise.all(all)).map((result) => result.kind)).toEqual(["failure", "failure"]);
  expect(begun).toEqual(["a"]);
});

it("ends a call by its deadline, and not before, after 310 s and after more than a timer holds", async () => {
  vi.useFakeTimers();
  try {
    const calls = createCalls(2);
    const run = (ms: number) =>
      calls.run(
        { ...request("a"), deadline: Date.now() + ms },
        new AbortController().signal,
        (ending) =>
          new Promise<ArmResult>((resolve) => {
            ending.addEventListener("abort", () => resolve(endedFailure(ending, 1)));
          }),
      );
    let ended = 0;
    const both = [310_000, 2 ** 32].map((ms) => run(ms).finally(() => (ended += 1)));
    await vi.advanceTimersByTimeAsync(309_999);
    expect(ended).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(await both[0]).toMatchObject({ code: "endpoint_timeout", retriable: false });
    expect(ended).toBe(1);
    calls.close();
    await both[1];
  } finally {
    vi.useRealTimers();
  }
});
