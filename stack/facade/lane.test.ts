import { describe, expect, it } from "vitest";
import { createLane } from "./lane.ts";

describe("a lane", () => {
  it("runs so many at once, the others in their order, and refuses what is beyond the queue", async () => {
    const lane = createLane(1, 2);
    const order: string[] = [];
    let finish: () => void = () => undefined;
    const first = lane.add(() => new Promise<void>((resolve) => (finish = resolve)));
    const others = ["a", "b"].map((name) => lane.add(() => Promise.resolve(void order.push(name))));
    await expect(lane.add(() => Promise.resolve())).rejects.toMatchObject({ code: 202 });
    expect(order).toEqual([]);
    finish();
    await Promise.all([first, ...others]);
    expect(order).toEqual(["a", "b"]);
    await lane.drain();
  });

  it("gives the slot of a caller who left to the next one at once", async () => {
    const lane = createLane(1, 1);
    let finish: () => void = () => undefined;
    const first = lane.add(() => new Promise<void>((resolve) => (finish = resolve)));
    const gone = new AbortController();
    const left = lane.add(() => Promise.reject(new Error("must not run")), gone.signal);
    gone.abort(new Error("hung up"));
    await expect(left).rejects.toThrow("hung up");
    const next = lane.add(() => Promise.resolve("ran"));
    finish();
    await first;
    expect(await next).toBe("ran");
    await expect(lane.add(() => Promise.resolve(), gone.signal)).rejects.toThrow("hung up");
  });
});
