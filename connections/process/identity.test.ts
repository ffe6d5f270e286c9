import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
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

// The threads of a process end one after another, and the first may be gone 100 ms before the last.
test("a process that is dead has let go of its port", async () => {
  const threads = `
    const { Worker } = require("node:worker_threads");
    const memory = "const kept = Array.from({ length: 20 }, () => Buffer.alloc(1 << 20, 1)); setInterval(() => kept, 1e3)";
    let up = 0;
    for (let i = 0; i < 6; i++) new Worker(memory, { eval: true }).once("online", () => {
      if (++up < 6) return;
      const server = require("node:net").createServer().listen(0, "127.0.0.1", () => console.log(server.address().port));
    });`;
  for (let round = 0; round < 3; round++) {
    const child = spawn(process.execPath, ["-e", threads], { stdio: ["ignore", "pipe", "inherit"] });
    const [port] = (await once(child.stdout, "data")) as [Buffer];
    const identity = identify(child.pid!)!;
    child.kill("SIGKILL");
    while (isAlive(identity)) await new Promise(setImmediate);
    const server = createServer().listen(Number(port.toString()), "127.0.0.1");
    await once(server, "listening");
    server.close();
  }
}, 30_000);
