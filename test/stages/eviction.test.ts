// Eviction for room on a real system: when the examples outgrow their budget, those worth the least
// for their bytes leave the pool, the topic, ClickHouse and the caches of the arm that was shown
// them, and requests go on being answered.
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { importPairs } from "../../cli/examples.ts";
import { modelFile } from "../../config/models.ts";
import { formatsIn, openDisk } from "../../connections/kv/disk.ts";
import { llamaAddonFile } from "../../connections/llama/library.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import type { Example, Response } from "../../schemas/types.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const model = "SmolLM2-135M-Instruct";
const absent = [modelFile(model), llamaAddonFile].filter((file) => !existsSync(file));
const missing = absent.length === 0 ? "" : ` (skipped: no ${absent.join(" and no ")}; run "npm run setup")`;

// One example each, of 768 bytes of vector and some of text: five fit.
const budgetBytes = 4_500;
const poor = ["show the free space of all disks", "list the open network ports"];
const good = ["compress a folder with tar", "count the lines of a file"];
const later = ["print the calendar of this month", "sort numbers in reverse", "kill a process by its name"];

describe.skipIf(missing !== "")(`eviction for room${missing}`, () => {
  let system: TestSystem;
  beforeAll(async () => {
    const linked = { policy: "naive", convention: "seen" };
    system = await startSystem({
      arms: [{ name: "small", type: "llama", model, contextTokens: 1024, linked }],
      kafka: { partitions: 2 },
      selection: { examples: 1, minimumSimilarity: 0.9 },
      curate: { everyMs: 100, evict: { budgetBytes, graceHours: 0 } },
    });
  });
  afterAll(() => system.stop());

  async function add(questions: readonly string[], quality: number): Promise<void> {
    const file = join(system.config.stack.folder, `pairs-${quality}-${questions.length}.jsonl`);
    const pairs = questions.map((request) => ({ request, response: `The command: ${request}`, quality }));
    await writeFile(file, pairs.map((pair) => JSON.stringify(pair)).join("\n"));
    const { log } = system.session;
    const embedder = await openEmbedder(system.config, { log });
    try {
      await importPairs({ session: system.session, embedder, file, options: { tenant: "default" } });
    } finally {
      await embedder.close();
    }
  }
  const ask = (question: string): Promise<Response> =>
    system.ask(question, { params: { maxTokens: 4, temperature: null, topP: null, seed: null, stop: [] } });
  const shownTo = ({ requestId }: Response): Promise<string[]> =>
    system.eventually("the decision", async () => {
      const rows = await system.session.clickhouse.query<{ ids: string[] }>(
        "SELECT arms[1].examples.id AS ids FROM decisions FINAL WHERE request_id = {id:String}",
        { id: requestId },
      );
      return rows[0]?.ids;
    });
  const live = async (): Promise<Map<string, string>> =>
    new Map(
      (
        await system.session.clickhouse.query<{ request: string; id: string }>(
          "SELECT request, example_id AS id FROM examples FINAL WHERE NOT deleted",
        )
      ).map(({ request, id }) => [request, id]),
    );
  const folder = (): string => join(system.config.stack.folder, "kv", "small");
  /** Example id to the chunk that it is in the arm's prompts. */
  async function chunks(): Promise<Map<string, string>> {
    const names = JSON.parse(await readFile(join(folder(), "names.json"), "utf8")) as [string, string][];
    return new Map(names.map(([name, chunk]) => [name.replace("example/", ""), chunk]));
  }
  /** Caches on disk of a chunk, or made behind it. */
  async function cachesOf(chunk: string): Promise<number> {
    const [format = ""] = await formatsIn(folder());
    const { entries } = await (await openDisk(folder(), format)).scan();
    return entries.filter((one) => one.chunk === chunk || one.prefix.some((before) => before.chunk === chunk)).length;
  }
  /** The newest record of each key. */
  async function topicHolds(): Promise<string[]> {
    const { kafka, codec, topic } = system.session;
    const newest = new Map<string, Example | null>();
    const reader = kafka.readTopic(topic("examples"), async (records) => {
      for (const { key, value } of records) {
        const decoded = value === null ? null : await codec.decode("examples", value);
        newest.set(key?.toString() ?? "", decoded?.ok === true ? decoded.value : null);
      }
    });
    await reader.caughtUp;
    await reader.stop();
    return [...newest.values()].flatMap((example) => example?.request ?? []).sort();
  }

  test("those of least value leave pool, topic, table and caches; the others stay, and serving goes on", async () => {
    await add(poor, 0.1);
    await add(good, 1);
    const before = await system.eventually("all are recorded", async () => {
      const all = await live();
      return all.size === 4 ? all : undefined;
    });
    for (const question of [...poor, ...good])
      await system.eventually(`"${question}" is shown its example`, async () => {
        const shown = await shownTo(await ask(question));
        return shown.includes(before.get(question) ?? "") ? true : undefined;
      });
    const chunkOf = await system.eventually("all have caches on disk", async () => {
      const named = await chunks();
      for (const id of before.values()) if ((await cachesOf(named.get(id) ?? "")) === 0) return undefined;
      return named;
    });

    await add(later, 1);
    const after = await system.eventually("room was made", async () => {
      const all = await live();
      return later.every((question) => all.has(question)) && all.size === 5 ? all : undefined;
    });
    expect([...after.keys()].sort()).toEqual([...good, ...later].sort());
    for (const question of good) expect(after.get(question)).toBe(before.get(question));
    expect(await topicHolds()).toEqual([...good, ...later].sort());
    const cachesFor = (question: string): Promise<number> => cachesOf(chunkOf.get(before.get(question)!)!);
    await system.eventually("their caches are gone", async () => {
      for (const question of poor) if ((await cachesFor(question)) > 0) return undefined;
      return true;
    });
    // Several passes later no other example has left.
    expect(await live()).toEqual(after);
    for (const question of good) expect(await cachesFor(question)).toBeGreaterThan(0);

    for (const question of [...poor, ...good]) {
      const response = await ask(question);
      expect(response.status).toBe("ok");
      const expected = good.includes(question) ? [before.get(question)] : [];
      expect((await shownTo(response)).filter((id) => [...before.values()].includes(id))).toEqual(expected);
    }
  }, 240_000);
});
