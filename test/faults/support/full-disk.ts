// A disk that is full for a while, for what lies under one path: a small library (full-disk.c),
// preloaded into the servers and stages that a rig starts, lets their writes fail with ENOSPC.
// Needs a C compiler.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Fault } from "./recovery.ts";
import type { Rig } from "./rig.ts";

export interface FullDisk {
  /**
   * Nothing can be written to files whose path contains `path` for so long; `during` runs at the
   * end of that time.
   */
  fault(name: string, path: (rig: Rig) => string, ms: number, during?: (rig: Rig) => Promise<void>): Fault;
  /** Processes started from now on have a disk of the usual kind. */
  restore(): void;
}

/**
 * Every process that this one starts from now on can have its disk filled. Throws where no C
 * compiler is.
 */
export function fillableDisk(): FullDisk {
  const folder = mkdtempSync(join(tmpdir(), "precedent-full-disk-"));
  const library = join(folder, "full-disk.so");
  const flag = join(folder, "full");
  const source = fileURLToPath(new URL("./full-disk.c", import.meta.url));
  execFileSync("gcc", ["-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"]);
  process.env["LD_PRELOAD"] = library;
  process.env["PRECEDENT_TEST_FULL"] = flag;
  return {
    fault: (name, path, ms, during) => ({
      name,
      async run(rig) {
        writeFileSync(flag, path(rig));
        try {
          await sleep(ms);
          await during?.(rig);
        } finally {
          rmSync(flag);
        }
        // A server that ended is started again by its supervisor, which waits a little longer after
        // every failure.
        await rig.ready();
        return `full for ${ms} ms`;
      },
    }),
    restore() {
      delete process.env["LD_PRELOAD"];
      delete process.env["PRECEDENT_TEST_FULL"];
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
