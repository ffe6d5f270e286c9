// Examples that tenants share without showing each other any of their own: two tenants have
// questions of one subject, `precedent examples synthesize` makes others like them through noise, a
// third member is shown those, and nothing of what the two asked reaches a model, a table of the
// run, or the shared place.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { importPairs } from "../../cli/examples.ts";
import { runCommand } from "../../cli/run.testing.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { startSystem, type TestSystem } from "../support/system.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const marker = "zebrafinch";
const subjects = "a tar archive|a vegetable soup|a football match|a poem about spring|the planet Mars|an old car".split(
  "|",
);
const actions = "open|make|show|close|move|share|copy|paint|find|lose|sell|explain".split("|");

let folder: string;
let system: TestSystem;
let writer: Upstream;

/** A model that writes of whatever it knows, or of what it is given. */
let calls = 0;
function says(prompt: string): string {
  if (!/^(?:Write one|This is a) question/.test(prompt)) return `An answer to: ${prompt}`;
  calls++;
  const subject = subjects.find((one) => prompt.includes(one)) ?? subjects[calls % subjects.length]!;
  return `How do I ${actions[Math.floor(calls / subjects.length) % actions.length]} ${subject} in step ${calls}?`;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "precedent-synthesize-"));
  writer = await startUpstream("writer", says);
  const synthetic = { epsilon: 4, delta: 1e-6, about: "anything" };
  system = await startSystem(
    {
      arms: [
        {
          name: "large",
          type: "openai",
          baseUrl: writer.baseUrl,
          model: "writer",
          stream: false,
          cost: 1,
          concurrency: 4,
        },
      ],
      sharing: { archives: { tenants: ["acme", "beta", "gamma"], synthetic } },
      selection: { minimumSimilarity: 0.3 },
      record: { batchMs: 100 },
      curate: { everyMs: 300, admit: { minimumQuality: 0.8, nearDuplicate: 0.999 } },
      kafka: { partitions: 2 },
    },
    { stages: ["plan", "generate", "record", "curate"] },
  );
  await writeFile(join(folder, "precedent.yaml"), JSON.stringify({ ...system.config, instance: undefined }));
  const { session, config } = system;
  const embedder = await openEmbedder(config, { log: session.log });
  for (const tenant of ["acme", "beta"]) {
    const file = join(folder, `${tenant}.jsonl`);
    const lines = Array.from({ length: 100 }, (_, i) =>
      JSON.stringify({
        request: `How do I unpack a tar archive of ${tenant}'s ${marker} ${i}?`,
        response: `tar -x ${marker}`,
      }),
    );
    await writeFile(file, lines.join("\n"));
    await importPairs({ session, embedder, file, options: { tenant, domain: "archives" } });
  }
  await embedder.close();
  await system.eventually("the examples recorded", async () =>
    (await count("acme/archives")) === 100 && (await count("beta/archives")) === 100 ? true : undefined,
  );
}, 180_000);
afterAll(async () => {
  await system.stop();
  writer.close();
  await rm(folder, { recursive: true, force: true });
});

const count = async (domain: string): Promise<number> => {
  const [row] = await system.session.clickhouse.query<{ n: number }>(
    "SELECT count() AS n FROM examples FINAL WHERE domain = {domain:String} AND NOT deleted",
    { domain },
  );
  return row?.n ?? 0;
};

test(
  "synthetic examples are like what was asked, are all that others are shown, and hold nothing of it",
  { timeout: 180_000 },
  async () => {
    const before = await system.ask("How do I unpack a tar archive?", { tenant: "gamma", domain: "archives" });
    expect(before).toMatchObject({ status: "ok", exampleIds: [] });

    const reported = await runCommand(folder, [
      "examples",
      "synthesize",
      "archives",
      "--arm",
      "large",
      "--count",
      "12",
      "--rounds",
      "3",
      "--json",
    ]);
    expect(reported.code, reported.note).toBe(0);
    const made = JSON.parse(reported.out) as { published: number; epsilonSpent: number; noise: number };
    expect(made).toMatchObject({ published: 12 });
    expect(made.epsilonSpent).toBeCloseTo(4, 4);

    const examples = await system.eventually("the synthetic examples", async () => {
      const rows = await system.session.clickhouse.query<{ tenant: string; request: string; response: string }>(
        "SELECT tenant, request, response FROM examples FINAL WHERE domain = '+/archives' AND NOT deleted",
      );
      return rows.length > 0 ? rows : undefined;
    });
    expect(new Set(examples.map(({ tenant }) => tenant))).toEqual(new Set(["+"]));
    const alike = examples.filter(({ request }) => request.includes("tar archive"));
    // Chance alone gives one of six.
    expect(alike.length).toBeGreaterThan(examples.length / 2);
    const rounds = await system.session.clickhouse.query("SELECT * FROM synthesis_rounds");
    expect(rounds).toHaveLength(3);
    expect(JSON.stringify([writer.asked, examples, rounds, reported.out, reported.note])).not.toContain(marker);

    const shown = await system.eventually("another member to be shown one", async () => {
      const response = await system.ask("How do I unpack a tar archive?", { tenant: "gamma", domain: "archives" });
      return response.exampleIds.length > 0 ? response : undefined;
    });
    expect(writer.asked.join("\n")).not.toContain(marker);
    const outside = await system.ask("How do I unpack a tar archive?", { tenant: "delta", domain: "archives" });
    expect([shown.exampleIds.length > 0, outside.exampleIds]).toEqual([true, []]);
    // Its own a member finds as ever.
    const own = await system.ask("How do I unpack a tar archive?", { tenant: "acme", domain: "archives" });
    expect(own.exampleIds.length).toBeGreaterThan(0);
  },
);

test("what is spent is spent, and a domain without a budget has no synthetic examples", async () => {
  const again = await runCommand(folder, ["examples", "synthesize", "archives", "--arm", "large", "--epsilon", "0.5"]);
  expect(again).toMatchObject({ code: 1 });
  expect(again.note).toContain("of the budget of archives (epsilon 4) a run of epsilon 0.00 is left");
  const other = await runCommand(folder, ["examples", "synthesize", "other", "--arm", "large"]);
  expect(other).toMatchObject({ code: 2 });
  expect(other.note).toContain("sharing.other.synthetic is not in the configuration");
});
