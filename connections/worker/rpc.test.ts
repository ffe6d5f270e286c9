import { afterEach, expect, test } from "vitest";
import { connectWorker, WorkerCallError, WorkerDied, type WorkerClient } from "./rpc.ts";
import type { TestMethods } from "./worker.testing.ts";

const open: WorkerClient<TestMethods>[] = [];
const connect = (entry = new URL("./worker.testing.ts", import.meta.url)): WorkerClient<TestMethods> => {
  const client = connectWorker<TestMethods>({ name: "test", entry, data: "given at start" });
  open.push(client);
  return client;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

test("answers concurrent calls each with its own result", async () => {
  const client = connect();
  const sums = await Promise.all(Array.from({ length: 50 }, (_, i) => client.call("add", { a: i, b: 1 })));
  expect(sums).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  expect(await client.call("input", null)).toBe("given at start");
  expect(client.pending()).toBe(0);
});

test("a handler that throws rejects its call with the code and leaves the worker alive", async () => {
  const client = connect();
  const error = await client.call("fail", "out_of_luck").catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(WorkerCallError);
  expect(error).toMatchObject({ code: "out_of_luck", message: "failed with out_of_luck" });
  expect(await client.call("add", { a: 1, b: 1 })).toBe(2);
});

test.each(["throw", "exit"] as const)("a crash (%s) rejects everything pending and every later call", async (how) => {
  const client = connect();
  const waiting = client.call("untilCancelled", null);
  const crashing = client.call("crash", how);
  await expect(waiting).rejects.toBeInstanceOf(WorkerDied);
  await expect(crashing).rejects.toBeInstanceOf(WorkerDied);
  expect((await client.died).message).toMatch(how === "throw" ? /uncaught in the worker/ : /code 7/);
  await expect(client.call("add", { a: 1, b: 1 })).rejects.toBeInstanceOf(WorkerDied);
  expect(client.alive).toBe(false);
});

test("a module that can't be loaded rejects what was called", async () => {
  await expect(connect(new URL("./no-such-worker.ts", import.meta.url)).call("add", { a: 1, b: 1 })).rejects.toThrow(
    /no-such-worker/,
  );
});

test("an abort reaches the handler, before and during the call", async () => {
  const client = connect();
  const controller = new AbortController();
  const call = client.call("untilCancelled", null, { signal: controller.signal });
  await client.call("add", { a: 1, b: 1 });
  controller.abort();
  expect(await call).toBe("cancelled");
  expect(await client.call("untilCancelled", null, { signal: AbortSignal.abort() })).toBe("cancelled");
});

test("events come in order and before the result", async () => {
  const events: unknown[] = [];
  expect(await connect().call("count", 5, { onEvent: (event) => events.push(event) })).toBe("done");
  expect(events).toEqual([0, 1, 2, 3, 4]);
});

test("buffers come back", async () => {
  expect(await connect().call("double", Float32Array.of(1, 2, 3))).toEqual(Float32Array.of(2, 4, 6));
});

test("close rejects what is pending and ends the worker", async () => {
  const client = connect();
  const waiting = client.call("untilCancelled", null);
  waiting.catch(() => undefined);
  await client.close();
  await expect(waiting).rejects.toBeInstanceOf(WorkerDied);
  expect((await client.died).message).toMatch(/closed/);
});
