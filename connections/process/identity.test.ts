import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { identify, isAlive } from "./identity.ts";

test("a process is alive until it ends, and under no other start time or boot", async () => {
  const child = spawn("sleep", ["60"]);
  const identity = identify(child.pid!)!;
  expect(isAlive(identity)).toBe(true);
  const [ticks = "", boot = ""] = identity.started.split("@");
  expect(boot).not.toBe("");
  expect(isAlive({ ...identity, started: `${Number(ticks) + 1}@${boot}` })).toBe(false);
  // After a reboot: the same pid was given out again at the very same tick.
  expect(isAlive({ ...identity, started: `${ticks}@the-boot-before` })).toBe(false);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(identify(child.pid!)).toBeUndefined();
  expect(isAlive(identity)).toBe(false);
});
