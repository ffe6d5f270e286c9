// A process that is killed while it writes leaves a store that is right up to its own offset.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { axis } from "./examples.testing.ts";
import { cleanUp, testFolder, testPool } from "./pool.testing.ts";
import { examplesInTurn, rowAt, writerOptions } from "./writer.testing.ts";
import type { ExamplePool } from "./port.ts";

afterEach(cleanUp);

const writer = fileURLToPath(new URL("./writer.testing.ts", import.meta.url));

/** Id to text, as the rows before `end` leave it. */
function expectedAt(end: number): Map<string, string> {
  const held = new Map<string, string>();
  for (let offset = Math.max(0, end - examplesInTurn); offset < end; offset++) {
    const { id, value } = rowAt(offset);
    if (value !== null) held.set(id, value.request);
  }
  return held;
}

async function heldBy(pool: ExamplePool): Promise<Map<string, string>> {
  const held = new Map<string, string>();
  for (const domain of ["acme/0", "acme/1", "acme/2"])
    for (const { example } of await pool.nearest(domain, axis(0), 100, 0)) held.set(example.id, example.request);
  return held;
}

test("killed at any moment, and killed again: what is there is what the offset says", async () => {
  const folder = await testFolder();
  let last = 0;
  for (const batches of [1, 9, 30]) {
    const child = spawn(process.execPath, ["tools/bin/run.mjs", writer, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let reported = 0;
    for await (const line of createInterface(child.stdout)) {
      last = Number(line);
      if (++reported === batches) break;
    }
    // In the middle of the next one, of a file, or of both.
    child.kill("SIGKILL");
    await once(child, "exit");

    const pool = await testPool(writerOptions(folder));
    const position = Number(pool.position(0));
    expect(position).toBeGreaterThanOrEqual(last);
    const sorted = (map: Map<string, string>): [string, string][] => [...map].sort();
    expect(sorted(await heldBy(pool))).toEqual(sorted(expectedAt(position)));
    expect(pool.size()).toBe(expectedAt(position).size);
    expect(pool.figures().damaged).toBe(0);
    await pool.close();
  }
}, 240_000);
