// Chunk caches in the one byte budget, on a real system with a small model: an arm's folder shrinks
// when a version of the policy gives it less, stays so when the stage is started again, and takes
// more where it may; learn moves bytes to it by what it counts.
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGenerate } from "../../pipelines/generate/start.ts";
import { policiesOf } from "../../pipelines/policies.ts";
import { putDocuments } from "../../cli/documents.ts";
import { modelFile } from "../../config/models.ts";
import { fixedSplit } from "../../config/sections/memory.ts";
import { llamaAddonFile } from "../../connections/llama/library.ts";
import { appendOnce } from "../../state/policies/append.ts";
import { BYTE_BUDGET, bytesOfAll, decodeByteBudgetPolicy, encodeByteBudget } from "../../state/policies/byte-budget.ts";
import { policyHistory } from "../../state/policies/history.ts";
import { policyRecord } from "../../state/policies/record.ts";
import type { Request } from "../../schemas/types.ts";
import { createCancels } from "../../state/cancels.ts";
import { followMargins } from "../../pipelines/learn/cache-margins.ts";
import type { RunningStage } from "../../runtime/running-stage.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const absent = [modelFile(), llamaAddonFile].filter((file) => !existsSync(file));
const missing = absent.length === 0 ? "" : ` (skipped: no ${absent.join(" and no ")}; run "npm run setup")`;

const mebibyte = 1_048_576;
const configured = 64 * mebibyte;
/** Caches of a document have some 2.6 MB. */
const few = 1.5 * mebibyte;
const paragraph = (name: string): string =>
  `The ${name} is kept in the cellar. It is cleaned every Monday, oiled every second Tuesday and shown to visitors on the first Sunday of the month.`;
const about = (id: string): Partial<Request> => ({
  documents: [id],
  params: { maxTokens: 2, temperature: null, topP: null, seed: null, stop: [] },
});

async function putBoth({ session }: TestSystem): Promise<void> {
  for (const id of ["first", "second"]) {
    const text = ["clock", "barometer", "telescope"].map((name) => paragraph(`${id} ${name}`)).join("\n\n");
    await putDocuments(session, [{ tenant: "default", id, text, title: id, createdAt: 1 }]);
  }
}

describe.skipIf(missing !== "")(`chunk caches in the one byte budget${missing}`, () => {
  let system: TestSystem;
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
    system = await startSystem(
      {
        arms: [
          {
            ...{ name: "small", type: "llama", contextTokens: 1024, system: "Answer in one word." },
            // Small enough that bytes on disk matter.
            linked: {
              ...{ policy: "naive", convention: "seen", sampleShare: 0 },
              ...{ memoryBytes: 4 * mebibyte, diskBytes: configured },
            },
          },
        ],
        documents: { chunkTokens: 64 },
        cache: { budgetBytes: configured },
        curate: { evict: { budgetBytes: configured } },
        memory: { byteBudget: "learnt", caches: true },
      },
      { stages: ["plan", "record"] },
    );
    generate = await startArm();
    await putBoth(system);
  });
  afterAll(async () => {
    await generate.stop();
    await system.stop();
  });

  async function bytesOnDisk(): Promise<number> {
    const root = join(system.config.stack.folder, "kv", "small");
    const files = (await readdir(root, { recursive: true })).filter((file) => file.endsWith(".kv"));
    const sizes = await Promise.all(files.map((file) => stat(join(root, file)).then(({ size }) => size)));
    return sizes.reduce((sum, size) => sum + size, 0);
  }
  async function publish(bytes: number): Promise<void> {
    const fixed = fixedSplit(system.config);
    const body = { ...fixed, responses: fixed.responses + configured - bytes, caches: { small: bytes } };
    await appendOnce(policiesOf(system.session), BYTE_BUDGET, (version) =>
      policyRecord({ name: BYTE_BUDGET, version, ...encodeByteBudget(body), createdAt: Date.now() }),
    );
  }
  /** Until its pieces are on disk, or have been. */
  async function ask(id: string): Promise<void> {
    await system.eventually("plan has the document", async () => {
      const { degraded } = await system.ask(`Where is the ${id} clock?`, about(id));
      return degraded.includes("documents") ? undefined : true;
    });
  }

  test("the folder shrinks to what a version gives, and the arm goes on", async () => {
    await ask("first");
    const before = await system.eventually("caches are on disk", async () => {
      const bytes = await bytesOnDisk();
      return bytes > 1.4 * few ? bytes : undefined;
    });
    expect(before).toBeLessThan(configured);
    await publish(few);
    await system.eventually("it has shrunk", async () => ((await bytesOnDisk()) <= few + 65_536 ? true : undefined));
    const { status } = await system.ask("Who cleans the first barometer?", about("first"));
    expect(status).toBe("ok");
    await ask("second");
    expect(await bytesOnDisk()).toBeLessThanOrEqual(few + 65_536);
  }, 120_000);

  test("a stage that is started again has the same budget, and tells what bytes are worth", async () => {
    await generate.stop();
    generate = await startArm();
    await ask("second");
    await ask("first");
    expect(await bytesOnDisk()).toBeLessThanOrEqual(few + 65_536);
    const margins = followMargins(system.session, system.session.log);
    try {
      // Both documents together fit neither on disk nor into memory: what is evicted comes back.
      await system.eventually("tokens are counted that more bytes would save", async () => {
        for (const id of ["first", "second"]) await system.ask(`Who oils the ${id} clock?`, about(id));
        const counted = margins.of({ windowMs: 60_000, leastMs: 1 }).get("small");
        return counted !== undefined && counted.gainTokens > 0 ? true : undefined;
      });
    } finally {
      await margins.stop();
    }
  }, 120_000);

  test("the folder grows where a version gives more", async () => {
    await publish(2 * configured);
    await system.eventually("it has grown", async () => {
      for (const id of ["first", "second"]) await system.ask(`Who oils the ${id} telescope?`, about(id));
      return (await bytesOnDisk()) > 2 * few ? true : undefined;
    });
  }, 120_000);
});

describe.skipIf(missing !== "")(`chunk caches that learn weighs${missing}`, () => {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem({
      arms: [
        {
          ...{ name: "small", type: "llama", cost: 1, contextTokens: 1024, system: "Answer in one word." },
          linked: {
            ...{ policy: "naive", convention: "seen", sampleShare: 0 },
            ...{ memoryBytes: 4 * mebibyte, diskBytes: few },
          },
        },
      ],
      documents: { chunkTokens: 64 },
      cache: { enabled: true, budgetBytes: 16 * mebibyte },
      curate: { evict: { budgetBytes: 16 * mebibyte } },
      memory: { byteBudget: "learnt", caches: true, everyMs: 10_000 },
    });
    await putBoth(system);
  });
  afterAll(() => system.stop());

  test("bytes that nobody uses move to the arm whose caches are evicted and come back", async () => {
    let asked = 0;
    // Answers are kept as well: every question is another.
    const newest = await system.eventually(
      "a version",
      async () => {
        for (const id of ["first", "second"]) await system.ask(`Who oils the ${id} clock, ${asked++}?`, about(id));
        const [version] = await policyHistory(system.session.clickhouse, BYTE_BUDGET, { limit: 1 });
        return version;
      },
      150_000,
    );
    expect(newest.kind).toBe("byte-budget/2");
    const fixed = fixedSplit(system.config);
    const split = decodeByteBudgetPolicy(newest, fixed);
    if ("problem" in split) throw new Error(split.problem);
    expect(split.caches["small"]).toBeGreaterThan(few);
    expect(bytesOfAll(split)).toBe(bytesOfAll(fixed));
    expect(newest.metrics["gain.caches.small"]).toBeGreaterThan(0);
  }, 200_000);
});
