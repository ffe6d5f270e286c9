import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acquireInstance } from "./instance.ts";
import { hostPart, idOfSlot } from "./instance-id.ts";
import { identify } from "../connections/process/identity.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-instance-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A living process that is not this one, holding an id. */
async function stranger(id: string, uses: string[]): Promise<{ kill(): Promise<void> }> {
  const child = spawn("sleep", ["60"]);
  const identity = identify(child.pid ?? 0);
  if (identity === undefined) throw new Error("sleep did not start");
  await (await acquireInstance(folder, "plan", id)).release();
  await writeFile(join(folder, "instances", id), JSON.stringify({ ...identity, uses }));
  return {
    async kill() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

describe("acquireInstance", () => {
  it("gives the first free id of a stage", async () => {
    const [first, second, other] = [
      await acquireInstance(folder, "plan"),
      await acquireInstance(folder, "plan"),
      await acquireInstance(folder, "generate"),
    ];
    const slots = [first, second, other].map(({ id }) => id.split("-").slice(0, 2).join("-"));
    expect(slots).toEqual(["plan-1", "plan-2", "generate-1"]);
    await first.release();
    await first.release();
    // The same slot is the same id: a successor ends its predecessor's transaction.
    expect((await acquireInstance(folder, "plan")).id).toBe(first.id);
  });

  it("carries the host and a random part: two machines that count alike differ, and a copied folder is not believed", async () => {
    expect((await acquireInstance(folder, "plan")).id).toMatch(
      new RegExp(`^plan-1-${hostPart(hostname())}-[0-9a-f]{8}$`),
    );
    const other = await mkdtemp(join(tmpdir(), "precedent-instance-"));
    const [here, there] = [await idOfSlot(folder, "plan-1", "a.example"), await idOfSlot(other, "plan-1", "a.example")];
    expect(here).toMatch(/^plan-1-a-example-/);
    expect(there).not.toBe(here);
    expect(await idOfSlot(folder, "plan-1", "a.example")).toBe(here);
    const moved = await idOfSlot(folder, "plan-1", "b.example");
    expect(moved).toMatch(/^plan-1-b-example-/);
    await writeFile(join(folder, "plan-1.id"), "plan-1-b-example-");
    expect(await idOfSlot(folder, "plan-1", "b.example")).toMatch(/^plan-1-b-example-[0-9a-f]{8}$/);
    await rm(other, { recursive: true });
  });

  it("gives different ids to callers at the same time", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => acquireInstance(folder, "plan")));
    expect(new Set(all.map(({ id }) => id)).size).toBe(8);
  });

  it("lets one process use its explicit id for several stages, once each", async () => {
    const plan = await acquireInstance(folder, "plan", "left");
    const generate = await acquireInstance(folder, "generate", "left");
    await expect(acquireInstance(folder, "plan", "left")).rejects.toThrow(/"left" is already running plan, generate/);
    await plan.release();
    expect(await readdir(join(folder, "instances"))).toContain("left");
    await generate.release();
    expect(await readdir(join(folder, "instances"))).not.toContain("left");
  });

  it("refuses an id that another living process holds, and takes it over when that is dead", async () => {
    const other = await stranger("right", ["plan"]);
    await expect(acquireInstance(folder, "plan", "right")).rejects.toThrow(/give this process another instance id/);
    await expect(acquireInstance(folder, "generate", "right")).rejects.toThrow(/"right" is already running plan/);
    await other.kill();
    expect((await acquireInstance(folder, "plan", "right")).id).toBe("right");
  });

  it("is not fooled by a pid that was given out again, nor by a torn file", async () => {
    await (await acquireInstance(folder, "plan", "a")).release();
    await writeFile(join(folder, "instances", "a"), JSON.stringify({ pid: 1, started: "0@before", uses: ["plan"] }));
    await writeFile(join(folder, "instances", "b"), '{"pid":');
    expect((await acquireInstance(folder, "plan", "a")).id).toBe("a");
    expect((await acquireInstance(folder, "plan", "b")).id).toBe("b");
  });
});
