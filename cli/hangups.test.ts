import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { listenForHangups, type Hangups } from "./hangups.ts";

let hangups: Hangups;
afterEach(() => hangups.close());

/** The signal, for listeners of this process alone. */
const hangUp = (): boolean => process.emit("SIGHUP", "SIGHUP");

it("keeps a signal that comes while the process starts, reloads one at a time, and ends", async () => {
  hangups = listenForHangups();
  const events: string[] = [];
  hangUp();
  hangUp();
  await sleep(1);
  hangups.begin(async () => {
    events.push("begin");
    await sleep(10);
    events.push("end");
  });
  await sleep(1);
  expect(events).toEqual(["begin"]);
  // While one is under way the file may change again, however often: one more reads it.
  hangUp();
  hangUp();
  await expect.poll(() => events.length).toBe(4);
  await sleep(20);
  expect(events).toEqual(["begin", "end", "begin", "end"]);
  hangups.end();
  expect(hangUp()).toBe(true);
  await sleep(5);
  expect(events).toHaveLength(4);
});

it("leaves the signal to others once it is closed", () => {
  const before = process.listenerCount("SIGHUP");
  hangups = listenForHangups();
  expect(process.listenerCount("SIGHUP")).toBe(before + 1);
  hangups.close();
  expect(process.listenerCount("SIGHUP")).toBe(before);
});
