import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeWritable } from "./folder.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "precedent-folder-"))));
afterEach(() => rmSync(folder, { recursive: true }));

describe("a state folder", () => {
  it("is made with all that leads to it, and taken as it is", async () => {
    await makeWritable(join(folder, "a", "b"));
    await makeWritable(join(folder, "a", "b"));
  });

  it("may be a link to one", async () => {
    mkdirSync(join(folder, "real"));
    symlinkSync(join(folder, "real"), join(folder, "link"));
    await makeWritable(join(folder, "link"));
  });

  it.each(["file", "file/below", "dangling", "loop"])("is refused where it can't be one: %s", async (name) => {
    writeFileSync(join(folder, "file"), "");
    symlinkSync(join(folder, "nowhere", "at-all"), join(folder, "dangling"));
    symlinkSync(join(folder, "loop"), join(folder, "loop"));
    await expect(makeWritable(join(folder, name))).rejects.toThrow(/state folder .* can't be used .*stack\.folder/);
  });

  it.each(["data", "logs", "instances"])("is refused where its %s is a file", async (name) => {
    writeFileSync(join(folder, name), "");
    await expect(makeWritable(folder)).rejects.toThrow(`${join(folder, name)} is no folder`);
  });

  it.each(["/", homedir(), dirname(homedir())])("is never one that holds the home folder: %s", async (path) => {
    await expect(makeWritable(path)).rejects.toThrow(/home folder.*stack\.folder/);
  });

  it.skipIf(process.getuid?.() === 0)("is refused where it may not be written", async () => {
    chmodSync(folder, 0o500);
    await expect(makeWritable(folder)).rejects.toThrow(/may not be written by this user/);
    chmodSync(folder, 0o700);
  });
});
