import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hashOfFile, recordRunning, runningSystems } from "./running.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "precedent-running-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const system = { file: "/a/precedent.yaml", hash: "1", stages: ["plan"], ready: false };

describe("running systems of a folder", () => {
  it("are on record until they end", () => {
    expect(runningSystems(folder)).toEqual([]);
    const forget = recordRunning(folder, system);
    recordRunning(folder, { ...system, ready: true, baseUrl: "http://127.0.0.1:7717/v1" });
    expect(runningSystems(folder)).toMatchObject([{ pid: process.pid, ready: true, file: "/a/precedent.yaml" }]);
    forget();
    expect(runningSystems(folder)).toEqual([]);
  });

  it("leave nothing when they were killed, and other files count for none", () => {
    mkdirSync(join(folder, "running"));
    const file = (name: string): string => join(folder, "running", name);
    // The pid of a living process that started at another time.
    writeFileSync(file("1.json"), JSON.stringify({ ...system, pid: process.ppid, started: "1@another-boot" }));
    writeFileSync(file("2.json"), "{ torn");
    writeFileSync(file("3.json"), JSON.stringify({ pid: process.pid }));
    expect(runningSystems(folder)).toEqual([]);
    expect(readdirSync(join(folder, "running"))).not.toContain("1.json");
  });

  it("knows a file by its text", () => {
    const file = join(folder, "precedent.yaml");
    writeFileSync(file, "arms: []");
    const before = hashOfFile(file);
    writeFileSync(file, "arms: [] ");
    expect(hashOfFile(file)).not.toBe(before);
    expect([hashOfFile(null), hashOfFile(join(folder, "none"))]).toEqual(["", ""]);
  });
});
