import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Check } from "./doctor-check.ts";
import type { TopicSafety } from "../connections/kafka/port.ts";
import { clientStamps, slowCoordinator, weakTopics } from "./doctor-durability.ts";
import { describeChecks } from "./doctor.ts";
import { folderCheck } from "./doctor-folder.ts";
import { atLeast } from "./doctor-machine.ts";
import { runCommand } from "./run.testing.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "precedent-doctor-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function doctor(yaml: string): Promise<{ code: number; checks: Map<string, Check>; note: string }> {
  writeFileSync(join(folder, "precedent.yaml"), yaml);
  const { code, out, note } = await runCommand(folder, ["doctor", "--json"], {
    PRECEDENT_CACHE: join(folder, "cache"),
  });
  const checks = JSON.parse(out) as Check[];
  return { code, checks: new Map(checks.map((check) => [check.name, check])), note };
}

describe("doctor", () => {
  it("names what is missing, how to get it, and ends with 1", async () => {
    const { code, checks, note } = await doctor(
      "arms: [{ name: a, type: llama }, { name: b, type: recorded, file: nowhere.jsonl }]",
    );
    expect(code).toBe(1);
    expect(note).toMatch(/missing or wrong: .*embedding model.*language model.*recorded answers/);
    expect(checks.get("embedding model")).toMatchObject({ state: "missing", remedy: "npm run setup" });
    expect(checks.get("language model")?.remedy).toContain("npm run setup");
    expect(checks.get("recorded answers")?.detail).toContain("nowhere.jsonl");
    expect(checks.get("node")).toMatchObject({ state: "fine" });
    // Nothing was started by looking.
    expect(checks.get("stack")).toMatchObject({ state: "waiting", remedy: "precedent stack start" });
  });

  it("tells an embedding model that is there and can't be loaded", async () => {
    const model = join(folder, "broken");
    mkdirSync(model);
    for (const file of ["model.onnx", "tokenizer.json"]) writeFileSync(join(model, file), "half of it");
    const { code, checks } = await doctor(`embedder: { model: ${model} }\narms: [{ name: a, type: llama }]`);
    expect(code).toBe(1);
    expect(checks.get("embedding model")).toMatchObject({
      ...{ state: "missing", detail: expect.stringContaining("the embedding model broken: ") as unknown },
      remedy: expect.stringContaining(`delete ${model}`) as unknown,
    });
  });

  it("tells a broken configuration before anything else", async () => {
    const { code, checks } = await doctor("arms: []\nnonsense: 1");
    expect(code).toBe(1);
    expect([...checks.keys()]).toEqual(["config"]);
    expect(checks.get("config")?.detail).toContain("nonsense");
  });

  it("says of servers that do not answer which they are", async () => {
    const { code, checks } = await doctor(
      [
        "kafka: { brokers: ['127.0.0.1:1'] }",
        "registry: { url: 'http://127.0.0.1:1' }",
        "clickhouse: { url: 'http://127.0.0.1:1' }",
        "arms: [{ name: a, type: openai, model: m, baseUrl: 'http://127.0.0.1:1' }]",
      ].join("\n"),
    );
    expect(code).toBe(1);
    for (const name of ["kafka", "registry", "clickhouse"])
      expect(checks.get(name)).toMatchObject({ state: "missing", detail: expect.stringContaining("127.0.0.1:1") });
    expect(checks.has("stack")).toBe(false);
    expect(checks.has("servers")).toBe(false);
  });

  it("says of the state folder whether it can be used, and makes none", async () => {
    const state = join(folder, "state", "below");
    expect(await folderCheck(state)).toMatchObject({
      state: "fine",
      detail: expect.stringMatching(/below: .* GiB free$/),
    });
    expect(await folderCheck(state, Infinity)).toMatchObject({
      state: "lacking",
      remedy: expect.stringContaining("disk"),
    });
    expect(existsSync(join(folder, "state"))).toBe(false);
    writeFileSync(join(folder, "a-file"), "");
    for (const wrong of ["a-file", "a-file/below"])
      expect(await folderCheck(join(folder, wrong))).toMatchObject({
        ...{ state: "missing", detail: expect.stringMatching(/no folder.*stack\.folder/) },
      });
  });

  it("writes remedies under what needs one", () => {
    const text = describeChecks([
      { name: "node", state: "fine", detail: "v20", remedy: "none" },
      { name: "x", state: "lacking", detail: "one\ntwo", remedy: "get it" },
    ]);
    expect(text.split("\n").map((line) => line.replace(/\u001b\[\d+m/g, ""))).toEqual([
      "✓ node  v20",
      "! x     one",
      "        two",
      "        → get it",
      "",
    ]);
  });

  it.each([
    ["v20.20.2", "20.11", true],
    ["v20.9.0", "20.11", false],
    ["22", "20.11", true],
    ['openjdk version "17.0.1"', "17", true],
  ])("%s is at least %s: %s", (version, wanted, expected) => {
    expect(atLeast(version, wanted)).toBe(expected);
  });
});

describe("copies of topics", () => {
  const safe: TopicSafety = {
    replicationFactor: 3,
    minInsyncReplicas: 2,
    stampedBy: "broker",
    segmentBytes: 1_048_576,
    keeps: { retentionMs: null, segmentMs: 0, compactionLagMs: null, compacts: false },
  };

  it("says nothing where all are as new ones would be, or safer", () => {
    const found = new Map<string, TopicSafety>([
      ["a", safe],
      ["b", { ...safe, replicationFactor: 4, minInsyncReplicas: 3 }],
    ]);
    expect(weakTopics({ wanted: safe, found })).toEqual({});
  });

  it("warns of topics that keep weaker settings, and says how to change them", () => {
    const found = new Map<string, TopicSafety>([
      ["a", safe],
      ["b", { ...safe, replicationFactor: 1, minInsyncReplicas: 1 }],
    ]);
    const { state, detail, remedy } = weakTopics({ wanted: safe, found });
    expect(state).toBe("lacking");
    expect(detail).toContain("1 of 2 topics can lose what was acknowledged, e.g. b (1 copies, min.insync.replicas 1;");
    expect(remedy).toContain("--add-config min.insync.replicas=2");
  });

  it("warns of a single broker that reads its groups slowly when it comes back", () => {
    const large = { ...safe, segmentBytes: 104_857_600 };
    const of = (has: TopicSafety) => slowCoordinator({ found: new Map([["__consumer_offsets", has]]) });
    expect(of(large)).toEqual({});
    expect(of({ ...safe, replicationFactor: 1 })).toEqual({});
    const { state, detail, remedy } = of({ ...large, replicationFactor: 1 });
    expect(state).toBe("lacking");
    expect(detail).toContain("one copy and segments of 100 MiB");
    expect(remedy).toContain("segment.bytes=1048576 --entity-name __consumer_offsets");
  });

  it("warns of client topics that are dated by producers", () => {
    const found = new Map<string, TopicSafety>([
      ["p.requests", safe],
      ["p.feedback", { ...safe, stampedBy: "producer" }],
      ["p.examples", { ...safe, stampedBy: "producer" }],
    ]);
    expect(clientStamps({ found }, ["p.requests"])).toEqual({});
    const { state, detail, remedy } = clientStamps({ found }, ["p.requests", "p.feedback"]);
    expect(state).toBe("lacking");
    expect(detail).toContain("p.feedback: records are dated by their producers");
    expect(remedy).toContain("LogAppendTime --entity-name p.feedback");
  });
});
