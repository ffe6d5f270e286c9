import { expect, it, vi } from "vitest";
import { readBack, type Window } from "./windows.ts";

const longEnough = { firstMs: 10, mostMs: 60_000 };
const all = { from: 0, until: 100 };

it("reads ever longer windows, without gaps, back to the beginning", async () => {
  const read: Window[] = [];
  const end = await readBack(
    all,
    longEnough,
    () => false,
    async (window) => void read.push(window),
  );
  expect([end, read]).toEqual([
    0,
    [
      { from: 90, until: 100 },
      { from: 50, until: 90 },
      { from: 0, until: 50 },
    ],
  ]);
});

it("stops when it has enough, or no time, and says where", async () => {
  let count = 0;
  const end = await readBack(
    all,
    longEnough,
    () => count === 2,
    () => Promise.resolve(void (count += 1)),
  );
  expect([end, count]).toEqual([50, 2]);
  expect(await readBack(all, { ...longEnough, mostMs: 0 }, () => false, () => Promise.reject(new Error("read")))).toBe(100); // prettier-ignore
});

it("reads no more than fits into the rest of its time, by what the window before took", async () => {
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const read: number[] = [];
  const end = await readBack(
    { from: 0, until: 1_000 },
    { firstMs: 10, mostMs: 100 },
    () => false,
    async ({ from, until }) => {
      read.push(until - from);
      now += until - from;
    },
  );
  clock.mockRestore();
  expect([end, read]).toEqual([900, [10, 40, 50]]);
});
