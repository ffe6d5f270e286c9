import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { identify } from "../connections/process/identity.ts";
import { writeHolder } from "../connections/process/lock.ts";
import { stackFolder } from "../stack/folder.ts";
import { writeState } from "../stack/state.ts";
import { runCommand } from "./run.testing.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "precedent-stack-status-"));
  writeFileSync(join(folder, "precedent.yaml"), "stack: { folder: . }\narms: [{ name: small, type: llama }]");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** This process in the part of the supervisor. */
async function supervise(registry: "ready" | "starting"): Promise<void> {
  const paths = stackFolder(folder);
  const supervisor = identify(process.pid);
  if (supervisor === undefined) throw new Error("this process has no identity");
  await writeHolder(paths.lock, { ...supervisor, uses: ["supervisor"] });
  const server = (port: number, status: "ready" | "starting" = "ready") => ({ port, status, restarts: 0 });
  writeState(paths.state, {
    ...{ supervisor, startedAt: "2026-11-25T10:00:00Z", token: "sixteen characters or more" },
    servers: { kafka: server(9301), registry: server(9302, registry), clickhouse: server(9303) },
  });
}

describe("precedent stack status", () => {
  it("ends with the addresses that clients take from the environment", async () => {
    await supervise("ready");
    const { code, out } = await runCommand(folder, ["stack", "status"]);
    expect(code).toBe(0);
    expect(out.trimEnd().split("\n").slice(-2)).toEqual([
      "KAFKA=127.0.0.1:9301",
      "REGISTRY=http://127.0.0.1:9302/apis/ccompat/v7",
    ]);
  });

  it("names no address of a stack that is not ready", async () => {
    await supervise("starting");
    const { code, out } = await runCommand(folder, ["stack", "status"]);
    expect(code).toBe(1);
    expect(out).toContain(": starting");
    expect(out).not.toMatch(/^(KAFKA|REGISTRY)=/m);
  });
});
