// Selection on the real stack: what is shown and tried is recorded with its features, and
// `precedent select` sees what plan sees.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HELPFULNESS_FEATURES } from "../../algorithms/selection/helpfulness-features.ts";
import { holdSelection } from "../../pipelines/plan/selection.ts";
import { importPairs } from "../../cli/examples.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";

const objects = "files folders links sockets devices pipes archives images logs scripts tables backups".split(" ");
const questionOf = (object: string, i: number): string => `list the newest ${object} of ${i} days`;
const asked = Array.from({ length: 48 }, (_, i) => questionOf(objects[i % objects.length] ?? "", i));
let system: TestSystem;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-select-"));
  const file = join(folder, "log.jsonl");
  const ready = "are the examples there";
  const line = (request: string): string => JSON.stringify({ request, response: `answer to ${request}` });
  await writeFile(file, [...asked, ready].map(line).join("\n"));
  const pairs = join(folder, "pairs.jsonl");
  await writeFile(
    pairs,
    objects.map((object) => JSON.stringify({ request: `list the ${object}`, response: `ls ${object}` })).join("\n"),
  );
  system = await startSystem({
    arms: [
      { name: "small", type: "recorded", file, cost: 0.1 },
      { name: "guided", type: "recorded", file, cost: 0.1, template: "guided" },
    ],
    selection: { examples: 3, minimumSimilarity: 0, explore: { trials: 0.5, thresholds: 0.5, orders: 0 } },
  });
  const { session, config } = system;
  const embedder = await openEmbedder(config, { log: session.log });
  await importPairs({ session, embedder, file: pairs, options: { tenant: "default" } });
  await embedder.close();
  await system.eventually("examples are shown", async () =>
    (await system.ask(ready)).exampleIds.length > 0 ? true : undefined,
  );
});
afterAll(() => system.stop());

interface Row {
  template: string;
  arm: string;
  answered: string;
  explored: number | null;
  trial: string;
  shown: boolean;
  probability: number;
  trialFeatures: number[];
  uses: [string, boolean, number[]][];
}

test("what is shown, tried and kept out is recorded with its features; the answer comes whatever the template", async () => {
  const answers = await Promise.all(asked.map((question) => system.ask(question)));
  expect(answers.map(({ status, text }) => [status, text])).toEqual(
    asked.map((question) => ["ok", `answer to ${question}`]),
  );
  const { clickhouse } = system.session;
  const ids = answers.map(({ requestId }) => requestId);
  const rows = await system.eventually("all rows", async () => {
    const found = await clickhouse.query<Row>(
      `SELECT decision.template AS template, decision.arm AS arm, decision.explored_threshold AS explored,
              trial.example_id AS trial, trial.shown AS shown, trial.probability AS probability, trial.features AS trialFeatures,
              use.uses AS uses
       FROM (SELECT * FROM decisions FINAL WHERE request_id IN {ids:Array(String)}) AS decision
       LEFT JOIN (SELECT * FROM example_trials FINAL) AS trial ON trial.request_id = decision.request_id
       LEFT JOIN (SELECT request_id, groupArray((example_id, explored, features)) AS uses FROM example_uses FINAL GROUP BY request_id) AS use
         ON use.request_id = decision.request_id`,
      { ids },
    );
    return found.length === ids.length ? found : undefined;
  });
  const trials = rows.filter(({ trial }) => trial !== "");
  // Half of the requests; of those half, each by an even coin: none of 48 would be a wonder.
  expect(trials.filter(({ shown }) => shown).length).toBeGreaterThan(0);
  expect(trials.filter(({ shown }) => !shown).length).toBeGreaterThan(0);
  expect(trials.length).toBeLessThan(rows.length);
  for (const { trial, shown, probability, trialFeatures, uses } of trials) {
    expect(probability).toBe(0.5);
    expect(trialFeatures).toHaveLength(HELPFULNESS_FEATURES);
    expect(uses.filter(([, explored]) => explored).map(([id]) => id)).toEqual(shown ? [trial] : []);
    expect(uses.some(([id]) => id === trial)).toBe(shown);
  }
  for (const { template, arm, uses, explored } of rows) {
    expect(template).toBe(arm === "guided" ? "guided/1" : "chat-turns/1");
    // No helpfulness model is learnt: there is no threshold to learn.
    expect(explored).toBeNull();
    expect(uses).toHaveLength(3);
    for (const [, , features] of uses) expect(features).toHaveLength(HELPFULNESS_FEATURES);
  }
});

test("the selection that is looked at is the one that is served, with a reason for every candidate", async () => {
  const held = await holdSelection(system.session);
  try {
    const request = { ...requestOf("list the images"), createdAt: Date.now() };
    const found = await held.select(request, new AbortController().signal);
    expect(found).toMatchObject({
      domain: "default/default",
      candidates: 12,
      pool: 12,
      helpfulnessVersion: 0,
      degraded: [],
    });
    const { examples, verdicts, trial } = found.byArm.get("small")!;
    expect(trial).toBeNull();
    expect(examples.at(-1)).toMatchObject({ request: "list the images", response: "ls images" });
    expect(verdicts.filter(({ reason }) => reason === "shown")).toHaveLength(3);
    expect(verdicts.filter(({ reason }) => reason === "too_many")).toHaveLength(9);
  } finally {
    await held.stop();
  }
});

test("the commands tell what was shown and tried", async () => {
  const file = join(folder, "precedent.yaml");
  await writeFile(file, JSON.stringify(system.config));
  const run = async (...argv: string[]): Promise<string> => {
    const { code, out, note } = await runCommand(folder, ["--config", file, ...argv], process.env);
    expect(code, out + note).toBe(0);
    return out + note;
  };
  const { clickhouse } = system.session;
  const [tried] = await clickhouse.query<{ id: string; request: string }>(
    "SELECT example_id AS id, request_id AS request FROM example_trials FINAL WHERE shown LIMIT 1",
  );
  expect(await run("examples", "show", tried!.id)).toMatch(
    /trials {3}shown by chance [1-9]\d* times, no reward yet; kept out/,
  );
  expect(await run("examples", "domains")).toMatch(/default\/default.*12.*all-MiniLM/s);
  expect(await run("explain", tried!.request)).toContain(
    `trial: ${tried!.id.slice(0, 12)} was forced in by chance (0.5)`,
  );

  const text = await run("select", "list the images", "--arm", "small");
  expect(text).toContain("shown, 1 from the question");
  expect(text).not.toContain("guided");
  const found = JSON.parse(await run("select", "list the images", "--json")) as {
    arms: { arm: string; shown: string[]; candidates: { id: string; reason: string }[] }[];
  };
  expect(found.arms.map(({ arm, shown, candidates }) => [arm, shown.length, candidates.length])).toEqual([
    ["small", 3, 12],
    ["guided", 3, 12],
  ]);
});
