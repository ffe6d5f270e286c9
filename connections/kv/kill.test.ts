// kill -9 while a process stores: what is there afterwards is whole.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { aFolder, anEntry, aStore, blobOf, format } from "./values.testing.ts";

const writer = fileURLToPath(new URL("./writer.testing.ts", import.meta.url));

it("a store is usable after its process was killed at any moment", { timeout: 60_000 }, async () => {
  const root = await aFolder();
  try {
    for (const wait of [0, 17, 41]) {
      const child = spawn(process.execPath, ["tools/bin/run.mjs", writer, root], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(child.stdout, "data");
      await sleep(wait);
      child.kill("SIGKILL");
      await once(child, "exit");
      const store = await aStore({ root, memoryBytes: 64 * 1_048_576, diskBytes: 256 * 1_048_576 });
      const entries = store.list();
      expect(entries.length).toBeGreaterThanOrEqual(2);
      const found = new Set(entries.map(({ key }) => key));
      for (let n = 0; n < 200; n++) {
        if (!found.has(anEntry(n).key)) continue;
        const blob = await store.get(anEntry(n).key);
        expect(Buffer.compare(blob ?? Buffer.of(), blobOf(n, 1_048_576))).toBe(0);
      }
      expect(store.stats().refused).toBe(0);
      expect((await readdir(join(root, format))).filter((file) => file.startsWith("writing"))).toEqual([]);
      await store.put(anEntry(1_000 + wait), blobOf(7));
      await store.close();
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
