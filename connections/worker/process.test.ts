import { afterEach, describe, expect, it } from "vitest";
import { connectWorker, type WorkerClient } from "./rpc.ts";
import type { TestMethods } from "./worker.testing.ts";

let client: WorkerClient<TestMethods> | undefined;
afterEach(() => client?.close());

function connect(): WorkerClient<TestMethods> {
  const entry = new URL("./worker.testing.ts", import.meta.url);
  client = connectWorker<TestMethods>({ name: "test", entry, data: "given", isolation: "process" });
  return client;
}

describe("a worker in a process of its own", () => {
  it("is called, fails, sends events and is cancelled as a thread is", async () => {
    const worker = connect();
    expect(await worker.call("add", { a: 1, b: 2 })).toBe(3);
    expect(await worker.call("input", null)).toBe("given");
    await expect(worker.call("fail", "odd")).rejects.toMatchObject({ name: "WorkerCallError", code: "odd" });
    const events: unknown[] = [];
    expect(await worker.call("count", 3, { onEvent: (event) => events.push(event) })).toBe("done");
    expect(events).toEqual([0, 1, 2]);
    const controller = new AbortController();
    const waiting = worker.call("untilCancelled", null, { signal: controller.signal });
    controller.abort();
    expect(await waiting).toBe("cancelled");
  });

  it("rejects what is pending when it dies, and does not take its parent along", async () => {
    const worker = connect();
    const pending = worker.call("untilCancelled", null);
    const crash = worker.call("crash", "exit");
    await expect(pending).rejects.toMatchObject({ name: "WorkerDied" });
    await expect(crash).rejects.toThrow(/code 7/);
    await expect(worker.call("add", { a: 1, b: 2 })).rejects.toMatchObject({ name: "WorkerDied" });
  });
});
