import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { anEntry, aStore, blobOf } from "../connections/kv/values.testing.ts";
import { runCommand, type CapturedOutput } from "./run.testing.ts";

let folder = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "precedent-kv-cli-"));
  const store = await aStore({ root: join(folder, ".precedent", "kv", "small"), clock: Date.now });
  for (const n of [1, 2, 3]) await store.put(anEntry(n), blobOf(n));
  await store.put(anEntry(1, [{ chunk: anEntry(3).chunk, tokens: 40 }], "system"), blobOf(4));
  store.used(anEntry(2).key, 0);
  await store.create("handbook", anEntry(3).key);
  for (const n of [1, 2]) await store.create(`acme/laws#${n}`, anEntry(n).key);
  await store.create("acme/laws#old#1", anEntry(3).key);
  await store.create("acme/laws#1/first", anEntry(1, [{ chunk: anEntry(3).chunk, tokens: 40 }], "system").key);
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...argv: string[]): Promise<CapturedOutput> => runCommand(folder, argv);
const short = (n: number): string => anEntry(n).key.slice(0, 12);

it("lists what is on disk, the most valuable first", async () => {
  const { code, out } = await run("kv", "ls");
  expect(code).toBe(0);
  const lines = out.split("\n").filter((line) => line.includes("small"));
  expect(lines).toHaveLength(4);
  expect(lines[0]).toContain(short(2));
  expect(out).toContain("handbook");
  expect(lines.find((line) => line.includes("system"))).toMatch(/ 40 /);
  expect(await run("kv", "ls", "--arm", "large")).toMatchObject({ out: expect.stringContaining("no chunk caches") });
  expect(await run("kv", "ls", "-n", "1")).toMatchObject({ out: expect.stringContaining("3 more") });
});

it("shows, pins and removes by key or id; counts", async () => {
  const shown = await run("kv", "show", "handbook");
  expect(JSON.parse(shown.out)).toMatchObject({ arm: "small", key: anEntry(3).key, tokens: 2, pinned: false });
  expect(await run("kv", "pin", short(1))).toMatchObject({ code: 0 });
  expect((await run("kv", "ls")).out).toContain(`${short(1)} pinned`);
  expect(await run("kv", "pin", short(1), "--off")).toMatchObject({ code: 0 });
  // All caches of a document, and none of the document laws#old.
  const behind = anEntry(1, [{ chunk: anEntry(3).chunk, tokens: 40 }], "system").key;
  const pinned = (await run("kv", "pin", "acme/laws")).out.trim().split(" ");
  expect(pinned.sort()).toEqual(["pinned", anEntry(1).key, anEntry(2).key, behind].sort());
  expect((await run("kv", "ls")).out).toContain(`${short(2)} pinned`);
  expect(await run("kv", "pin", "acme/laws", "--off")).toMatchObject({ code: 0 });
  expect((await run("kv", "ls")).out).not.toContain("pinned");
  expect(await run("kv", "rm", "acme/laws", "acme/laws#2", "acme/nothing")).toMatchObject({ code: 1 });
  expect(await run("kv", "rm", "handbook", short(2), short(2))).toMatchObject({ out: "removed 2\n" });
  expect(await run("kv", "rm", short(1), "0123456789")).toMatchObject({ code: 1 });
  const { out } = await run("kv", "stats");
  expect(out.split("\n").find((line) => line.includes("small"))).toMatch(/│ +1 │ +2 │ +4 │/);
});
