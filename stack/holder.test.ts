import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { holderOf, isDead } from "./holder.ts";

test("of this machine and pid namespace it is known who is dead, of others it is not", async () => {
  expect(isDead(holderOf())).toBe(false);
  const child = spawn("sleep", ["60"]);
  const other = holderOf(child.pid);
  expect(isDead(other)).toBe(false);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(isDead(other)).toBe(true);
  expect(isDead({ ...other, host: "elsewhere" })).toBe(false);
  expect(isDead({ ...other, space: "pid:[1]" })).toBe(false);
  expect(isDead({ ...other, started: "1@another-boot" })).toBe(false);
  // A pid that was given out again.
  expect(isDead({ ...holderOf(), started: holderOf().started.replace(/^\d+/, "1") })).toBe(true);
});
