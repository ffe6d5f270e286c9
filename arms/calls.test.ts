import { expect, it } from "vitest";
import type { ArmRequest, ArmResult } from "./arm.ts";
import { createCalls, endedFailure } from "./calls.ts";

const request = (requestId: string): ArmRequest => ({
  requestId,
  pieces: [],
  params: { maxTokens: null, temperature: null, topP: null, seed: null, stop: [] },
  deadline: Date.now() + 60_000,
});

it("tells who finds no free place, before its turn, and when all is over", async () => {
  const calls = createCalls(1);
  const told: string[] = [];
  const going = new AbortController();
  const endings: (() => void)[] = [];
  const run = (id: string, signal = going.signal) =>
    calls.run(
      request(id),
      signal,
      (ending) => {
        told.push(`${id} runs`);
        return new Promise<ArmResult>((resolve) => {
          endings.push(() => resolve(endedFailure(ending, 1)));
        });
      },
      (over) => {
        told.push(`${id} waits`);
        over.addEventListener("abort", () => told.push(`${id} is over`));
      },
    );
  const leaving = new AbortController();
  const all = [run("a"), run("b"), run("c", leaving.signal), run("d", AbortSignal.abort())];
  leaving.abort();
  expect(await all[2]).toMatchObject({ code: "cancelled", attempts: 0 });
  expect(told).toEqual(["b waits", "c waits", "a runs", "c is over"]);
  while (endings.length > 0 || told.at(-1) !== "b is over") {
    endings.shift()?.();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(all);
  expect(told.slice(4)).toEqual(["b runs", "b is over"]);
  calls.close();
});
