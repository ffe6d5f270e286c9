import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { replacePersonalData } from "../../algorithms/privacy/pii.ts";
import { splitText } from "../../algorithms/text/split.ts";
import type { TextWork } from "./port.ts";
import { createTextWork, type TextOptions } from "./supervised.ts";

let text: TextWork | undefined;
afterEach(() => text?.close());

const log = pino({ level: "silent" });
const none = { split: -1, redact: -1 };
const testing = new URL("./worker.testing.ts", import.meta.url);
const start = (more: Partial<TextOptions> = {}): TextWork =>
  (text = createTextWork({ limitMs: 500, log, inPlace: none, worker: testing, ...more }));

describe("text work", () => {
  it("gives in the worker and in place what the functions give", async () => {
    const long = "My name is Ann Lee. Mail ann.lee@company.com!\n\n".repeat(200);
    for (const inPlace of [none, { split: 1e9, redact: 1e9 }]) {
      const { split, redact, close } = createTextWork({ limitMs: 60_000, log, inPlace });
      for (const splitter of ["meaning", "size"] as const)
        expect(await split(long, splitter, 64)).toEqual(splitText(long, splitter, 64));
      expect(await redact([long, "to ann.lee@company.com"], {})).toEqual(
        replacePersonalData([long, "to ann.lee@company.com"]).texts,
      );
      await close();
    }
  });

  it("ends a worker that hangs, and the next call has another; the event loop goes on meanwhile", async () => {
    const { split, redact, check } = start();
    await check();
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 10);
    const hanging = [split("hang", "size", 9), redact(["hang"], {})];
    const behind = split("behind it", "size", 9);
    await expect(hanging[0]).rejects.toMatchObject({ code: "text_timeout", message: expect.stringMatching(/500 ms/) });
    await expect(hanging[1]).rejects.toMatchObject({ code: "text_timeout" });
    expect(await behind).toEqual(["behind it"]);
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(20);
  });

  it("does not count an answer as late that came in time to an event loop that was held up", async () => {
    const { split, check } = start({ limitMs: 200 });
    await check();
    const answered = split("in time", "size", 9);
    // The call is posted before the event loop is held up.
    await new Promise((resolve) => setImmediate(resolve));
    const until = performance.now() + 600;
    while (performance.now() < until);
    expect(await answered).toEqual(["in time"]);
  });

  it("gets over a crash, and tells a failure of the work from one of the worker", async () => {
    const { split, check } = start();
    await expect(split("crash", "size", 9)).rejects.toMatchObject({ code: "text_unavailable" });
    await expect(split("fail", "size", 9)).rejects.toThrow("it failed");
    await check();
  });

  it("starts none for short texts, and says when none can be started, without trying again at once", async () => {
    const worker = new URL("./there-is-none.ts", import.meta.url);
    const { split, check } = start({ worker, inPlace: { split: 10, redact: 10 } });
    expect(await split("short", "size", 9)).toEqual(["short"]);
    await expect(check()).rejects.toMatchObject({ code: "text_unavailable", message: expect.stringMatching(/none/) });
    await expect(split("a longer one", "size", 9)).rejects.toThrow(/tried again/);
  });

  it("bounds what waits", async () => {
    const { split } = start({ mostWaiting: 1 });
    const first = split("one", "size", 9);
    const calls = [split("two", "size", 9), split("three", "size", 9), split("four", "size", 9)];
    const settled = await Promise.allSettled([first, ...calls]);
    const busy = settled.filter((one) => one.status === "rejected");
    expect(busy.length).toBeGreaterThan(0);
    for (const { reason } of busy) expect(reason).toMatchObject({ code: "text_busy" });
    expect(await split("after", "size", 9)).toEqual(["after"]);
  });

  it("is closed for good, though a text hangs", async () => {
    const { split, check, close } = start({ limitMs: 60_000 });
    await check();
    const hanging = split("hang", "size", 9);
    const rejected = expect(hanging).rejects.toMatchObject({ code: "text_unavailable" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await close();
    await rejected;
    await expect(split("more", "size", 9)).rejects.toMatchObject({ code: "text_unavailable" });
  });
});
