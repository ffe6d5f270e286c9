// The cache inventory on a real system: an arm publishes which examples it has cached, selection
// prefers those and says so, and what a waiting request will link is fetched from disk before its
// turn.
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGenerate } from "../../pipelines/generate/start.ts";
import { followInventories } from "../../state/inventory/inventory.ts";
import { createCancels } from "../../state/cancels.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import { putDocuments } from "../../cli/documents.ts";
import { importPairs } from "../../cli/examples.ts";
import { modelFile } from "../../config/models.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { llamaAddonFile } from "../../connections/llama/library.ts";
import { exampleHash, type InventoryTable } from "../../state/inventory/table.ts";
import type { Request } from "../../schemas/types.ts";
import { requestOf, startSystem, type TestSystem } from "../support/system.ts";

const absent = [modelFile(), llamaAddonFile].filter((file) => !existsSync(file));
const missing = absent.length === 0 ? "" : ` (skipped: no ${absent.join(" and no ")}; run "npm run setup")`;
const question = "list the newest files";
const paragraph = (name: string): string =>
  `The ${name} is kept in the cellar. It is cleaned every Monday, oiled every second Tuesday and shown to visitors on the first Sunday of the month.`;
const short: Partial<Request> = { params: { maxTokens: 2, temperature: null, topP: null, seed: null, stop: [] } };

describe.skipIf(missing !== "")(`the cache inventory${missing}`, () => {
  let system: TestSystem;
  let folder = "";
  /** The arm's stage, which is started and stopped here, so that it begins with an empty memory. */
  let generate: RunningStage;
  const startArm = () =>
    startGenerate(
      system.session,
      "arm-1",
      system.config.arms[0]!,
      () => ({ guard: (_name, arm) => arm, state: () => "closed" }),
      () => createCancels({ clock: Date.now }),
    );

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "precedent-inventory-"));
    const pairs = join(folder, "pairs.jsonl");
    // As helpful as each other, nearly: some are shown, and some are not.
    const things = "files folders links logs scripts tables".split(" ");
    const lines = things.map((thing) => ({ request: `list the newest ${thing} here`, response: `ls ${thing}` }));
    await writeFile(pairs, lines.map((line) => JSON.stringify(line)).join("\n"));
    system = await startSystem(
      {
        arms: [
          {
            ...{ name: "small", type: "llama", contextTokens: 1024, concurrency: 1, system: "Answer with a command." },
            linked: { policy: "naive", convention: "seen", sampleShare: 0 },
          },
        ],
        documents: { chunkTokens: 64 },
        selection: { examples: 3, minimumSimilarity: 0, nearDuplicate: 1, cachedBonus: 0.1 },
      },
      { stages: ["plan", "record"] },
    );
    generate = await startArm();
    const { session, config } = system;
    const embedder = await openEmbedder(config, { log: session.log });
    await importPairs({ session, embedder, file: pairs, options: { tenant: "default" } });
    await embedder.close();
    await system.eventually("examples are shown", async () =>
      (await system.ask(question, short)).exampleIds.length === 3 ? true : undefined,
    );
  });
  afterAll(async () => {
    await generate.stop();
    await system.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Uses of a request as they are recorded. */
  const usesOf = (id: string) =>
    system.eventually("the decision is recorded", async () => {
      const rows = await system.session.clickhouse.query<{ id: string; bonus: number; helpfulness: number }>(
        `SELECT example_id AS id, cached_bonus AS bonus, helpfulness FROM example_uses FINAL
         WHERE request_id = {id:String} ORDER BY position`,
        { id },
      );
      return rows.length > 0 ? rows : undefined;
    });

  test("what an arm holds arrives at plan, is preferred, and the decision says so", async () => {
    const { exampleIds } = await system.ask(question, short);
    const followed = followInventories(system.session, system.session.log);
    try {
      await system.eventually("the inventory", async () =>
        exampleIds.every((id) => followed.table.has("small", exampleHash(id))) ? true : undefined,
      );
      expect(followed.table.has("small", exampleHash("none of them"))).toBe(false);
    } finally {
      await followed.stop();
    }
    const uses = await system.eventually("plan has the inventory", async () => {
      const { requestId } = await system.ask(question, short);
      const found = await usesOf(requestId);
      return found.every(({ bonus }) => bonus > 0) ? found : undefined;
    });
    expect(uses.map(({ bonus }) => bonus)).toEqual([0.1, 0.1, 0.1]);
    // The same three, in the order of what they are worth themselves.
    expect(uses.map(({ id }) => id).sort()).toEqual([...exampleIds].sort());
    const worth = uses.map(({ helpfulness }) => helpfulness);
    expect(worth).toEqual(worth.toSorted((a, b) => a - b));
    const [hour] = await system.session.clickhouse.query<{ preferred: string }>(
      "SELECT sum(preferred) AS preferred FROM cached_examples WHERE arm = 'small'",
    );
    expect(Number(hour?.preferred)).toBeGreaterThanOrEqual(3);
    const metrics = await system.session.metrics.metrics();
    expect(metrics).toMatch(/precedent_selection_cached_total\{arm="small",cached="yes"\} [1-9]/);
  });

  test("is taken back when the arm's process ends, and said again when it starts: it knows what lies on its disk", async () => {
    const { exampleIds } = await system.ask(question, short);
    const has = (table: InventoryTable) => exampleIds.filter((id) => table.has("small", exampleHash(id))).length;
    const followed = followInventories(system.session, system.session.log);
    try {
      await system.eventually("it is said", async () => (has(followed.table) === 3 ? true : undefined));
      await generate.stop();
      await system.eventually("it is taken back", async () => (has(followed.table) === 0 ? true : undefined));
      generate = await startArm();
      await system.eventually("it is said again", async () => (has(followed.table) === 3 ? true : undefined));
    } finally {
      await followed.stop();
    }
  });

  test("what a request links is in memory before its turn, though the arm has just been started", async () => {
    const text = ["clock", "barometer", "telescope"].map(paragraph).join("\n\n");
    await putDocuments(system.session, [
      { tenant: "default", id: "manor", text, title: "The manor", expiresAt: null, createdAt: 1 },
    ]);
    // A domain without examples: these prompts only link the system prompt and the document.
    const alone = { ...short, domain: "elsewhere" };
    await system.eventually("plan has the document", async () => {
      const { error } = await system.ask("Where is the clock?", { ...alone, documents: ["manor"] });
      return error?.code === "unknown_document" ? undefined : true;
    });
    await generate.stop();
    generate = await startArm();
    const long = { ...alone, params: { ...short.params!, maxTokens: 100 } };
    const busy = Array.from({ length: 5 }, (_, i) => requestOf(`Count from ${i} to a hundred, in words.`, long));
    const waiting = requestOf("Who cleans the barometer?", { ...alone, documents: ["manor"] });
    await system.produce(busy);
    await system.eventually("the arm is busy", async () => (generate.health().inFlight > 1 ? true : undefined));
    await system.produce([waiting]);
    const { status, usage } = await system.response(waiting.id);
    expect(status).toBe("ok");
    // All but the question.
    expect(usage.linked).toBeGreaterThan(100);
    const reads = await system.eventually("the arm tells of its reads", async () => {
      const metrics = await system.session.metrics.metrics();
      const of = (from: string) =>
        Number(new RegExp(`kv_reads\\{arm="small",from="${from}"\\} (\\d+)`).exec(metrics)?.[1] ?? 0);
      // Three pieces and the system prompt: the gauges are as old as the last look at the arm.
      return of("memory") + of("disk") >= 4 ? { disk: of("disk"), prefetched: of("prefetched") } : undefined;
    });
    // The first request had no turn to wait for, and read the system prompt.
    expect(reads.disk).toBeLessThanOrEqual(1);
    expect(reads.prefetched).toBeGreaterThanOrEqual(3);
    await Promise.all(busy.map(({ id }) => system.response(id)));
  });
});
