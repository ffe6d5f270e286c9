import { expect, test } from "vitest";
import { cpuSeconds, cpuSecondsOf, ownCpuSeconds, resident, residentOf } from "./processes.ts";

test("user and system time are read past any name", () => {
  const stat = "4711 (node (evil) x) S 1 4711 4711 0 -1 4194304 100 0 0 0 250 50 7 8 20 0 11 0 1234 5678 910";
  expect(cpuSecondsOf(stat)).toBe(3);
});

test("resident memory in MiB", () => {
  const status = "Name:\tnode\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\nThreads:\t11\n";
  expect(residentOf(status)).toEqual({ now: 100, peak: 200 });
});

test.runIf(process.platform === "linux")("this process has used CPU and memory", () => {
  expect(Math.abs(cpuSeconds(process.pid) - ownCpuSeconds())).toBeLessThan(1);
  expect(resident(process.pid).now).toBeGreaterThan(10);
  expect(resident(process.pid).peak).toBeGreaterThanOrEqual(resident(process.pid).now - 1);
});
