import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import {
  cpuSeconds,
  cpuSecondsOf,
  cpuSecondsOfTree,
  ownCpuSeconds,
  resident,
  residentOf,
  workerName,
} from "./processes.ts";

test("user and system time are read past any name", () => {
  const stat = "4711 (node (evil) x) S 1 4711 4711 0 -1 4194304 100 0 0 0 250 50 7 8 20 0 11 0 1234 5678 910";
  expect(cpuSecondsOf(stat)).toBe(3);
});

test("resident memory in MiB", () => {
  const status =
    "Name:\tnode\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\nRssAnon:\t   61440 kB\nRssFile:\t   30720 kB\nRssShmem:\t   10240 kB\n";
  expect(residentOf(status)).toEqual({ now: 100, peak: 200, anonymous: 60, mapped: 40 });
});

test.runIf(process.platform === "linux")("this process has used CPU and memory", () => {
  expect(Math.abs(cpuSeconds(process.pid) - ownCpuSeconds())).toBeLessThan(1);
  expect(resident(process.pid).now).toBeGreaterThan(10);
  expect(resident(process.pid).peak).toBeGreaterThanOrEqual(resident(process.pid).now - 1);
});

test("a worker's process is called after the folder of what it runs", () => {
  expect(workerName('node\0boot-process.mjs\0{"entry":"file:///x/store/vectors/worker.ts","data":{}}\0')).toBe(
    "vectors",
  );
  expect(workerName("java\0-jar\0x.jar\0")).toBe("other");
});

test.runIf(process.platform === "linux")("a process counts with its children", async () => {
  const burn = "const end = Date.now() + 300; while (Date.now() < end); console.log(1); setInterval(() => {}, 1000)";
  const child = spawn(process.execPath, ["-e", burn], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(child.stdout, "data");
    const { main, other } = cpuSecondsOfTree(process.pid);
    expect(main).toBeGreaterThan(0);
    expect(other).toBeGreaterThan(0.05);
  } finally {
    child.kill("SIGKILL");
  }
});
