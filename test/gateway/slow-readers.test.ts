// 1,000 readers that are slow at the level of TCP, at the gateway's own server and streams in a
// process of their own (the answers are made here, in place of the stages): each gets its whole
// answer or is disconnected, those who keep up are answered meanwhile, and what is unsent, and the
// memory with it, stays bounded.
import { execFile, fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { resident } from "../../bench/support/processes.ts";
import type { Held, Started } from "../support/slow-gateway.ts";

const execute = promisify(execFile);
const readers = 1_000;
const mebi = 1_048_576;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
let child: ChildProcess;
afterEach(async () => {
  child.disconnect();
  await once(child, "exit");
});

async function start(maxUnsentBytes: number): Promise<Started> {
  child = fork(here("../../tools/bin/run.mjs"), [here("../support/slow-gateway.ts"), String(maxUnsentBytes)], {
    execArgv: [],
  });
  const [started] = (await once(child, "message")) as [Started];
  return started;
}

interface Readers {
  whole: number;
  cut: number;
  other: number;
}

/** What became of slow readers, and of those who keep up beside them. */
async function readSlowly(port: number, size: number): Promise<{ slow: Readers; held: Held; grown: number }> {
  const pid = child.pid ?? 0;
  const before = resident(pid).now;
  let grown = 0;
  let done = false;
  const given = [String(port), "/stream", String(readers), String(size), "20"];
  const slow = execute("python3", [here("../support/slow_readers.py"), ...given], { timeout: 110_000 }).finally(
    () => (done = true),
  );
  let asked = 0;
  do {
    const brisk = await Promise.all(
      Array.from({ length: 20 }, async () => (await fetch(`http://127.0.0.1:${port}/brisk`)).text()),
    );
    expect(new Set(brisk)).toEqual(new Set([brisk[0]]));
    expect(brisk[0]).toContain("[DONE]");
    asked++;
    grown = Math.max(grown, resident(pid).now - before);
  } while (!done);
  expect(asked).toBeGreaterThan(0);
  const { stdout } = await slow;
  const held = (await (await fetch(`http://127.0.0.1:${port}/held`)).json()) as Held;
  return { slow: JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Readers, held, grown: grown * mebi };
}

test("all get their whole answer where there is room for it", { timeout: 120_000 }, async () => {
  const { port } = await start(512 * mebi);
  const { slow, held, grown } = await readSlowly(port, 16_384);
  expect(slow).toMatchObject({ whole: readers, cut: 0, other: 0 });
  expect(held).toMatchObject({ now: 0, cuts: 0 });
  const [resident, inUse, unsent] = [grown, held.inUse, held.most].map((bytes) => (bytes / mebi).toFixed(0));
  console.log(`all whole: ${resident} MiB grown, ${inUse} MiB in use, ${unsent} MiB unsent at most`);
  // They are slow enough to leave something in the gateway.
  expect(held.most).toBeGreaterThan(32 * mebi);
});

test("beyond the bound some are disconnected, and the others get theirs", { timeout: 120_000 }, async () => {
  const maxUnsentBytes = 16 * mebi;
  const { port } = await start(maxUnsentBytes);
  const { slow, held, grown } = await readSlowly(port, 16_384);
  expect([slow.whole + slow.cut, slow.other]).toEqual([readers, 0]);
  expect(slow.cut).toBe(held.cuts);
  expect(held.cuts).toBeGreaterThan(0);
  expect(held.now).toBe(0);
  console.log(`${held.cuts} cut: ${(grown / mebi).toFixed(0)} MiB grown, ${(held.inUse / mebi).toFixed(0)} MiB in use`);
  // Beside the bound: what a stream costs, and the 16 KiB that its socket takes before it is full.
  expect(held.inUse).toBeLessThan(maxUnsentBytes + readers * 65_536);
  // Twice what was seen; without the bound it is what all of them leave, three times as much.
  expect(grown).toBeLessThan(maxUnsentBytes + 144 * mebi);
});
