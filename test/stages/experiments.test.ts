// An experiment on the real stack: each user keeps a variant, its arms answer, the response cache
// keeps variants apart, and the views compare them.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSystem, type TestSystem } from "../support/system.ts";

let folder: string;
let system: TestSystem;
const users = Array.from({ length: 12 }, (_, i) => `u${i}`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-experiments-"));
  const file = async (name: string, response: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, JSON.stringify({ request: "hello", response }));
    return path;
  };
  const recorded = { type: "recorded", model: "m" };
  system = await startSystem(
    {
      arms: [
        { ...recorded, name: "usual", file: await file("usual.jsonl", "good day") },
        { ...recorded, name: "short", file: await file("short.jsonl", "hi"), experimental: true },
      ],
      cache: { enabled: true },
      experiments: [
        {
          ...{ name: "wording", tenants: ["acme"] },
          variants: [{ name: "control" }, { name: "short", arms: ["short"] }],
        },
      ],
    },
    { stages: ["plan", "record"] },
  );
}, 180_000);
afterAll(async () => {
  await system.stop();
  await rm(folder, { recursive: true, force: true });
});

test("each user keeps a variant, in what is answered, cached and recorded", async () => {
  const asked = (user: string, tenant = "acme") => system.ask("hello", { tenant, metadata: { user } });
  const ask = async (user: string, tenant?: string): Promise<string> => (await asked(user, tenant)).text;
  const first = await Promise.all(users.map((user) => ask(user)));
  expect(new Set(first)).toEqual(new Set(["good day", "hi"]));
  // Its users get their own variant's answers from the response cache, too.
  for (const text of ["good day", "hi"])
    await system.eventually("an answer from the cache", async () => {
      const response = await asked(users[first.indexOf(text)]!);
      expect(response.text).toBe(text);
      return response.source === "cache" ? true : undefined;
    });
  expect(await Promise.all(users.slice(0, 4).map((user) => ask(user, "beta")))).toEqual(Array(4).fill("good day"));
  const { clickhouse } = system.session;
  const rows = await system.eventually("the experiment", async () => {
    const found = await clickhouse.query<{ variant: string; units: number; verdict: string }>(
      "SELECT variant, units, verdict FROM experiments WHERE experiment = 'wording'",
    );
    return found.reduce((sum, { units }) => sum + units, 0) === users.length ? found : undefined;
  });
  const short = first.filter((text) => text === "hi").length;
  expect(rows).toEqual([
    { variant: "control", units: users.length - short, verdict: "control" },
    { variant: "short", units: short, verdict: "too_few" },
  ]);
  const sources = await system.eventually("the decisions", async () => {
    const found = await clickhouse.query<object>(
      "SELECT DISTINCT variant, arm, source FROM decisions FINAL WHERE experiment != '' ORDER BY variant, source",
    );
    return found.length === 4 ? found : undefined;
  });
  expect(sources).toEqual([
    { variant: "control", arm: "usual", source: "cache" },
    { variant: "control", arm: "usual", source: "routed" },
    { variant: "short", arm: "short", source: "cache" },
    { variant: "short", arm: "short", source: "routed" },
  ]);
});
