// An experiment on the real stack: each user keeps a variant, its arms answer, the response cache
// keeps variants apart, and the views compare them. Variants are arms, or versions of the router.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packedIndex, packedLength } from "../../algorithms/numeric/matrix.ts";
import { FEATURE_COUNT, FEATURE_VERSION } from "../../algorithms/routing/features.ts";
import { checkPins } from "../../cli/doctor-pins.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { policiesOf } from "../../pipelines/policies.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import { appendOnce } from "../../state/policies/append.ts";
import { policyRecord } from "../../state/policies/record.ts";
import { encodeRouterBody, ROUTER, ROUTER_KIND } from "../../state/policies/router.ts";
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

const isSure = Array<number>(packedLength(FEATURE_COUNT)).fill(0);
for (let k = 0; k < FEATURE_COUNT; k++) isSure[packedIndex(k, k)] = 1_000;
/** A posterior that is sure of the same quality for all requests. */
const sureOf = (quality: number) => ({
  ...{ model: "m", count: 1_000, mean: [quality, ...Array<number>(FEATURE_COUNT - 1).fill(0)], factor: isSure },
});

test("two pinned versions of the router split the traffic, and the comparison tells them apart", async () => {
  const arm = async (name: string) => {
    const file = join(folder, `${name}.jsonl`);
    await writeFile(file, JSON.stringify({ request: "hello", response: `${name} answer` }));
    return { name, type: "recorded", model: "m", file, cost: 0.5 };
  };
  const versions = await startSystem(
    {
      arms: [await arm("good"), await arm("bad")],
      learn: { everyMs: 500, settleMs: 100 },
      experiments: [
        {
          name: "versions",
          variants: [
            { name: "first", routerVersion: 1 },
            { name: "second", routerVersion: 2 },
          ],
        },
      ],
    },
    { stages: ["plan", "record", "learn"] },
  );
  try {
    const { session, config } = versions;
    const home = join(folder, "versions");
    await mkdir(home);
    await writeFile(join(home, "precedent.yaml"), JSON.stringify({ ...config, instance: undefined }));
    const precedent = (...argv: string[]) => runCommand(home, argv);
    const askAll = (count: number) =>
      Promise.all(Array.from({ length: count }, (_, i) => versions.ask("hello", { metadata: { user: `v${i}` } })));
    const taking = async (ids: readonly string[]) =>
      versions.eventually("the decisions", async () => {
        const found = await session.clickhouse.query<{ variant: string; arm: string; version: number; sure: number }>(
          `SELECT variant, arm, policy_version AS version, probability > .99 AND variant_probability = .5 AS sure
           FROM decisions FINAL WHERE request_id IN {ids:Array(String)}`,
          { ids },
        );
        return found.length === ids.length ? found : undefined;
      });

    // Not a version of the router is there: nothing is split.
    const before = await askAll(4);
    expect((await taking(before.map(({ requestId }) => requestId))).map(({ variant }) => variant)).toEqual([
      "",
      "",
      "",
      "",
    ]);
    expect(await checkPins(config, session.kafka, session.codec)).toMatchObject({ state: "lacking" });
    expect(await precedent("policy", "pin", "1")).toMatchObject({
      code: 1,
      note: expect.stringContaining("router has no version 1"),
    });
    const qualities = [
      [0.9, 0.1],
      [0.1, 0.9],
    ] as const;
    for (const [good, bad] of qualities)
      await appendOnce(policiesOf(session), ROUTER, (version) =>
        policyRecord({
          ...{ name: ROUTER, version, kind: ROUTER_KIND, featureVersion: FEATURE_VERSION, createdAt: Date.now() },
          body: encodeRouterBody({ arms: new Map(Object.entries({ good: sureOf(good), bad: sureOf(bad) })) }),
        }),
      );
    for (const version of ["1", "2"])
      await versions.eventually("the version in ClickHouse", async () =>
        (await precedent("policy", "pin", version)).code === 0 ? true : undefined,
      );
    await versions.eventually("both pins in plan", async () => {
      const { requestId } = await versions.ask("hello", { metadata: { user: "first" } });
      return (await taking([requestId]))[0]?.variant === "" ? undefined : true;
    });
    expect(await checkPins(config, session.kafka, session.codec)).toMatchObject({ state: "fine" });
    const answers = await askAll(120);
    const decided = await taking(answers.map(({ requestId }) => requestId));
    expect(new Set(decided.map((one) => JSON.stringify(one)))).toEqual(
      new Set(
        [
          { variant: "first", arm: "good", version: 1, sure: 1 },
          { variant: "second", arm: "bad", version: 2, sure: 1 },
        ].map((one) => JSON.stringify(one)),
      ),
    );

    const producer = session.kafka.plainProducer();
    await producer.send(
      answers.map(({ requestId, arm: by }) => ({
        ...{ topic: session.topic("feedback"), key: requestId },
        value: session.codec.encode(
          "feedback",
          plainFeedback({
            ...{ id: `f-${requestId}`, requestId, kind: "reward", value: by === "good" ? 1 : 0 },
            ...{ source: "system", createdAt: Date.now() },
          }),
        ),
      })),
    );
    await producer.close();
    const verdict = await versions.eventually("the verdict", async () => {
      const found = (await precedent("experiments", "versions")).out;
      return found.includes("too few") || !found.includes("worse") ? undefined : found;
    });
    expect(verdict).toMatch(/first[^]*second/);
    // Learning went on beside it, and a version learnt since routes nothing of the experiment.
    await versions.eventually("a learnt version", async () => {
      const [row] = await session.clickhouse.query<{ newest: number }>(
        "SELECT max(version) AS newest FROM policies WHERE name = 'router'",
      );
      return (row?.newest ?? 0) > 2 ? true : undefined;
    });
    const later = await askAll(8);
    const found = await taking(later.map(({ requestId }) => requestId));
    expect(found.map(({ variant, version }) => (variant === "first" ? 1 : 2) === version)).toEqual(Array(8).fill(true));
  } finally {
    await versions.stop();
  }
}, 180_000);
