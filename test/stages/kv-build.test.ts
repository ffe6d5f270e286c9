// Caches before the first request: `precedent kv build` in a process of its own, and an arm in its
// idle time.
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pieceName } from "../../algorithms/identity/identity.ts";
import { putDocuments, removeDocuments } from "../../cli/documents.ts";
import { openFolders, rowsOf } from "../../cli/kv-folders.ts";
import { importPairs } from "../../cli/examples.ts";
import { modelFile } from "../../config/models.ts";
import type { LlamaArmConfig } from "../../config/schema.ts";
import { openInventory } from "../../arms/linked/inventory.ts";
import { openEmbedder } from "../../pipelines/embedder.ts";
import { llamaAddonFile } from "../../connections/llama/library.ts";
import { buildCaches, type BuildProgress } from "../../pipelines/generate/build-caches.ts";
import { startGenerate } from "../../pipelines/generate/start.ts";
import { createCancels } from "../../state/cancels.ts";
import { followInventories } from "../../state/inventory/inventory.ts";
import { exampleHash } from "../../state/inventory/table.ts";
import type { Request } from "../../schemas/types.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const absent = [modelFile(), llamaAddonFile].filter((file) => !existsSync(file));
const missing = absent.length === 0 ? "" : ` (skipped: no ${absent.join(" and no ")}; run "npm run setup")`;
const things = "files folders links logs scripts tables".split(" ");
const clock = "The clock is kept in the cellar. It is cleaned every Monday and oiled every second Tuesday.";
const manor = { tenant: "default", id: "manor", text: clock, title: "The manor", expiresAt: null, createdAt: 1 };
const linked = { policy: "naive", convention: "context", sampleShare: 0 } as const;
const arm = { type: "llama", contextTokens: 1024, concurrency: 1, system: "Answer with a command." } as const;

describe.skipIf(missing !== "")(`caches made before requests${missing}`, () => {
  let system: TestSystem;
  let folder = "";
  const of = (name: string): LlamaArmConfig => system.config.arms.find((one) => one.name === name) as LlamaArmConfig;
  const build = (
    name: string,
    options: { domain?: string; top?: number; bytes?: number; documents?: boolean } = {},
  ) => {
    const seen: BuildProgress[] = [];
    const onProgress = (done: BuildProgress) => void seen.push(done);
    return buildCaches(system.session, of(name), { ...options, signal: new AbortController().signal, onProgress });
  };
  const startArm = (name: string) =>
    startGenerate(
      system.session,
      `arm-${name}`,
      of(name),
      () => ({ guard: (_name, guarded) => guarded, state: () => "closed" }),
      () => createCancels({ clock: Date.now }),
    );
  const ask = (name: string, question: string, more: Partial<Request> = {}) =>
    system.ask(question, {
      ...more,
      params: { maxTokens: 2, temperature: null, topP: null, seed: null, stop: [] },
      allow: { arms: [name], maxCost: null, costWeight: null, deadlineMs: null },
    });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "precedent-kv-build-"));
    const pairs = join(folder, "pairs.jsonl");
    const lines = things.map((thing) => ({ request: `list the newest ${thing} here`, response: `ls -t ${thing}` }));
    await writeFile(pairs, lines.map((line) => JSON.stringify(line)).join("\n"));
    system = await startSystem(
      {
        arms: [
          { ...arm, name: "built", linked: { ...linked, build: "off" } },
          { ...arm, name: "idle", linked: { ...linked, build: "idle" } },
        ],
        documents: { chunkTokens: 64 },
        selection: { examples: 3, minimumSimilarity: 0, nearDuplicate: 1 },
      },
      { stages: ["plan", "record"] },
    );
    const { session, config } = system;
    const embedder = await openEmbedder(config, { log: session.log });
    await importPairs({ session, embedder, file: pairs, options: { tenant: "default" } });
    await embedder.close();
    await system.eventually("the examples are recorded", async () => {
      const [row] = await session.clickhouse.query<{ count: string }>("SELECT count() AS count FROM examples FINAL");
      return Number(row?.count) === things.length ? true : undefined;
    });
  });
  afterAll(async () => {
    await system.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("kv build goes by value, ends at its bytes, goes on where it was, and makes nothing twice", async () => {
    expect(await build("built", { domain: "other/default" })).toMatchObject({ done: 0, caches: 0, ended: "done" });
    const first = await build("built", { top: 1 });
    expect(first).toMatchObject({ done: 1, ended: "done" });
    expect(first.bytes).toBeGreaterThan(0);
    expect(await build("built", { bytes: first.bytes })).toMatchObject({ ended: "full" });
    const rest = await build("built");
    expect(rest).toMatchObject({ done: things.length, ended: "done" });
    expect(rest.caches).toBeGreaterThan(0);
    expect(await build("built")).toMatchObject({ done: things.length, caches: 0, tokens: 0, ended: "done" });
  });

  test("the first request that shows them finds them, documents too", async () => {
    await putDocuments(system.session, [manor]);
    expect((await build("built", { documents: true })).caches).toBeGreaterThan(0);
    const folders = await openFolders(join(system.config.stack.folder, "kv"), "built");
    expect(rowsOf(folders).flatMap(({ ids }) => ids)).toContain("default/manor#1");
    const generate = await startArm("built");
    try {
      const shown = await system.eventually("plan has examples and document", async () => {
        const response = await ask("built", "Where is the clock?", { documents: ["manor"] });
        return response.exampleIds.length === 3 && response.status === "ok" ? response : undefined;
      });
      const { usage } = shown;
      // All but the question and the turn's marks.
      expect(usage.prefilled).toBeLessThan(20);
      expect(usage.linked).toBeGreaterThan(80);
    } finally {
      await generate.stop();
    }
  });

  test("an idle arm makes those of documents and of the pool by itself, and says so in its inventory", async () => {
    const generate = await startArm("idle");
    const followed = followInventories(system.session, system.session.log);
    try {
      const ids = await system.session.clickhouse.query<{ id: string }>("SELECT example_id AS id FROM examples FINAL");
      await system.eventually("the caches", () =>
        Promise.resolve(ids.every(({ id }) => followed.table.has("idle", exampleHash(id))) ? true : undefined),
      );
      // Documents of the topic, put in the test before, are made first.
      const { usage, exampleIds } = await ask("idle", "list the newest tables", { documents: ["manor"] });
      expect(exampleIds).toHaveLength(3);
      expect(usage.prefilled).toBeLessThan(20);
      const onDisk = () => openFolders(join(system.config.stack.folder, "kv"), "idle");
      const keys = async () => new Set(rowsOf(await onDisk()).map(({ key }) => key));
      const pieces = async (): Promise<readonly string[]> => {
        const [folder] = await onDisk();
        const { store, path } = folder!;
        return (await openInventory({ store, folder: path, log: system.session.log })).cached().documents;
      };
      const become = (what: string, wanted: string) =>
        system.eventually(what, async () => {
          const found = await pieces();
          return found.length === 1 && found[0] === wanted ? true : undefined;
        });
      const pieceOf = (text: string): string => pieceName("default/manor", `The manor\n\n${text}`);
      await become("the document's caches are on disk", pieceOf(clock));
      const text = "The clock was sold.";
      await putDocuments(system.session, [{ ...manor, text, createdAt: 2 }]);
      await become("caches of its new text have taken their place", pieceOf(text));
      const before = await keys();
      await removeDocuments(system.session, "default", ["manor"]);
      await system.eventually("they are gone", async () => {
        const now = await keys();
        return [...before].some((key) => !now.has(key)) ? true : undefined;
      });
      expect((await keys()).size).toBeGreaterThan(things.length);
    } finally {
      await followed.stop();
      await generate.stop();
    }
  });
});
