import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { fingerprintOf } from "./model.ts";

let folder = "";
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-fingerprint-"));
});
afterAll(() => rm(folder, { recursive: true }));

it("is of the whole file", async () => {
  await write("m.gguf", "whole");
  expect(await fingerprintOf(join(folder, "m.gguf"))).toBe(sha256("whole"));
});

it("is of all files of a split model, in order", async () => {
  await write("m-00001-of-00002.gguf", "one");
  await write("m-00002-of-00002.gguf", "two");
  const first = join(folder, "m-00001-of-00002.gguf");
  expect(await fingerprintOf(first)).toBe(sha256("onetwo"));
  await write("m-00002-of-00002.gguf", "other");
  expect(await fingerprintOf(first)).toBe(sha256("oneother"));
  await rm(join(folder, "m-00002-of-00002.gguf"));
  await expect(fingerprintOf(first)).rejects.toMatchObject({
    code: "model_missing",
    message: expect.stringContaining("m-00002-of-00002.gguf"),
  });
});
