// What was compiled counts only while it is what its sources say.
import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { compile } from "./compile.mjs";
import { compiledOf, currentBuild } from "../../connections/worker/compiled.mjs";

let folder: string;
const file = (name: string): string => join(folder, name);
const entries = ["start.ts", "other.ts"];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-compile-"));
  await mkdir(file("part"));
  await writeFile(file("start.ts"), 'import { place } from "./part/place.ts";\nconsole.log(place(1));\n');
  await writeFile(file("other.ts"), 'import { place } from "./part/place.ts";\nplace(0);\n');
  await writePlace("one");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function writePlace(reported: string): Promise<void> {
  const lines = [
    "interface Only { types: string }",
    "export function place(n: number): string {",
    `  if (n === 0) throw new Error("${reported}" satisfies Only["types"]);`,
    `  return "${reported} " + import.meta.url;`,
    "}",
  ];
  return writeFile(file("part/place.ts"), lines.join("\n"));
}

async function run(name: string): Promise<{ stdout: string; stderr: string }> {
  const compiled = compiledOf(pathToFileURL(file(name)).href, currentBuild(folder), folder);
  const program = `process.setSourceMapsEnabled(true); await import(${JSON.stringify(compiled)})`;
  const given = ["--input-type=module", "-e", program];
  return promisify(execFile)(process.execPath, given).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
}

const make = (): ReturnType<typeof compile> => compile({ of: folder, entries });

test("runs as its sources would: each knows its own place, and errors name the TypeScript line", async () => {
  await make();
  expect((await run("start.ts")).stdout).toBe(`one ${pathToFileURL(file("part/place.ts")).href}\n`);
  expect((await run("other.ts")).stderr).toContain(`${file("part/place.ts")}:3:`);
});

test("none is current before the first, nor when a source is gone or the folder has moved", async () => {
  expect(currentBuild(folder)).toBeNull();
  await make();
  expect(currentBuild(folder)).not.toBeNull();
  const moved = `${folder}-moved`;
  await rename(folder, moved);
  try {
    expect(currentBuild(moved)).toBeNull();
  } finally {
    await rename(moved, folder);
  }
  await rm(file("part/place.ts"));
  expect(currentBuild(folder)).toBeNull();
});

test("a changed file of data is seen, too", async () => {
  await writeFile(file("data.json"), "[1]");
  await writeFile(file("start.ts"), 'import data from "./data.json" with { type: "json" };\nconsole.log(data);\n');
  await make();
  expect((await run("start.ts")).stdout).toBe("[ 1 ]\n");
  await writeFile(file("data.json"), "[1, 2]");
  expect(currentBuild(folder)).toBeNull();
});

test("a change is seen although size and time of change are what they were", async () => {
  await make();
  const before = await stat(file("part/place.ts"));
  await writePlace("two");
  await utimes(file("part/place.ts"), before.atime, before.mtime);
  expect((await stat(file("part/place.ts"))).size).toBe(before.size);
  expect(currentBuild(folder)).toBeNull();
  await make();
  expect((await run("start.ts")).stdout).toMatch(/^two /);
});

test("a source that is written again with what it says already needs no new one", async () => {
  await make();
  const past = new Date(Date.now() - 60_000);
  await utimes(file("part/place.ts"), past, past);
  await copyFile(file("start.ts"), file("copy"));
  await rename(file("copy"), file("start.ts"));
  expect(currentBuild(folder)).not.toBeNull();
});

test("what it says of a source is not believed while the clock may not have moved since", async () => {
  const build = await make();
  const { size, mtimeMs, ctimeMs } = await stat(file("part/place.ts"));
  expect(build.inputs["part/place.ts"]).toMatchObject({ size, changed: mtimeMs, touched: ctimeMs });
  // As if written within the same tick, after it was read.
  build.inputs["part/place.ts"]!.hash = "of something else";
  await writeFile(file("build/current.json"), JSON.stringify(build));
  expect(currentBuild(folder)).toBeNull();
});

test("a source that does not compile leaves what was there, and says where", async () => {
  await make();
  const kept = await readdir(file("build"));
  await cp(file("part/place.ts"), file("good"));
  await writeFile(file("part/place.ts"), "export const = 1;");
  await expect(make()).rejects.toThrow(/part\/place\.ts:1:13/);
  expect(await readdir(file("build"))).toEqual(kept);
  await rename(file("good"), file("part/place.ts"));
  expect((await run("start.ts")).stdout).toMatch(/^one /);
});

test("an entry without one is left to tsx; a few older builds stay for those that run them", async () => {
  for (let i = 0; i < 7; i++) await make();
  expect(compiledOf(pathToFileURL(file("part/place.ts")).href, currentBuild(folder), folder)).toBeNull();
  const made = (await readdir(file("build"))).filter((name) => name.startsWith("made-"));
  expect(made).toHaveLength(5);
  expect(made).toContain(currentBuild(folder)?.folder);
});
