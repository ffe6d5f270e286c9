import { pino } from "pino";
import { expect, test } from "vitest";
import { superviseWorker } from "./supervised.ts";
import { WorkerDied } from "./rpc.ts";
import type { TestMethods } from "./worker.testing.ts";

const log = pino({ level: "silent" });
const entry = new URL("./worker.testing.ts", import.meta.url);
const base = { name: "kept", entry, data: "x", log, pause: { first: 20, limit: 50 } };

test("a crashed worker is replaced; calls in between are rejected at once", async () => {
  let restarted: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (restarted = resolve));
  let prepared = 0;
  const supervised = await superviseWorker<TestMethods>({
    ...base,
    prepare: async (client) => {
      await client.call("input", null);
      prepared++;
    },
    onReady: () => restarted(),
  });
  await expect(supervised.call("crash", "throw")).rejects.toBeInstanceOf(WorkerDied);
  expect(supervised.ready).toBe(false);
  await expect(supervised.call("add", { a: 1, b: 1 })).rejects.toBeInstanceOf(WorkerDied);
  await ready;
  expect(await supervised.call("add", { a: 1, b: 1 })).toBe(2);
  expect(prepared).toBe(2);
  await supervised.close();
});

test("a worker that can't be prepared at first rejects", async () => {
  const prepare = (): Promise<void> => Promise.reject(new Error("no model"));
  await expect(superviseWorker<TestMethods>({ ...base, prepare })).rejects.toThrow("no model");
});

test("a closed one is not started again", async () => {
  const supervised = await superviseWorker<TestMethods>({ ...base, prepare: async () => undefined });
  const crash = supervised.call("crash", "exit");
  await expect(crash).rejects.toBeInstanceOf(WorkerDied);
  await supervised.close();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(supervised.ready).toBe(false);
});

test("one that hangs is killed, its calls rejected, and replaced", async () => {
  let restarted: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (restarted = resolve));
  const supervised = await superviseWorker<TestMethods>({
    ...base,
    isolation: "process",
    prepare: async (client) => {
      await client.call("input", null);
    },
    onReady: () => restarted(),
  });
  const hanging = supervised.call("untilCancelled", null);
  supervised.kill("it hangs");
  expect(supervised.ready).toBe(false);
  await expect(hanging).rejects.toThrow(/it hangs/);
  await ready;
  expect(await supervised.call("add", { a: 1, b: 1 })).toBe(2);
  await supervised.close();
});

test("starts that fail in a row are counted until one succeeds", async () => {
  let broken = false;
  let restarted: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (restarted = resolve));
  const counts: number[] = [];
  const supervised = await superviseWorker<TestMethods>({
    ...base,
    prepare: async (client) => {
      if (broken) {
        counts.push(supervised.failedStarts);
        broken = counts.length < 3;
        throw new Error("no model");
      }
      await client.call("input", null);
    },
    onReady: () => restarted(),
  });
  broken = true;
  await expect(supervised.call("crash", "exit")).rejects.toBeInstanceOf(WorkerDied);
  await ready;
  expect(counts).toEqual([0, 1, 2]);
  expect(supervised.failedStarts).toBe(0);
  await supervised.close();
});
