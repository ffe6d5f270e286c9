// Linked prefill on a real system, with models of two architectures: a document put once and named
// by requests, its caches on disk, and what was compared with full prefills in ClickHouse.
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { putDocuments } from "../../cli/documents.ts";
import { modelFile } from "../../config/models.ts";
import { llamaAddonFile } from "../../connections/llama/library.ts";
import type { Request } from "../../schemas/types.ts";
import { startSystem, type TestSystem } from "../support/system.ts";

const models = [
  { model: "SmolLM2-135M-Instruct", remedy: "npm run setup" },
  { model: "Qwen2.5-Coder-0.5B-Instruct", remedy: "npm run setup -- --model Qwen2.5-Coder-0.5B-Instruct" },
];

const paragraph = (name: string): string =>
  `The ${name} is kept in the cellar. It is cleaned every Monday, oiled every second Tuesday and shown to visitors on the first Sunday of the month.`;

describe.each(models)("linked prefill in the system", ({ model, remedy }) => {
  const absent = [modelFile(model), llamaAddonFile].filter((file) => !existsSync(file));
  const missing = absent.length === 0 ? "" : ` (skipped: no ${absent.join(" and no ")}; run "${remedy}")`;
  describe.skipIf(missing !== "")(`with ${model}${missing}`, () => systemTests(model));
});

function systemTests(model: string): void {
  let system: TestSystem;
  beforeAll(async () => {
    system = await startSystem({
      arms: [
        {
          ...{ name: "small", type: "llama", model, contextTokens: 1024, system: "Answer in one word." },
          linked: { policy: "naive", convention: "seen", sampleShare: 1 },
        },
      ],
      documents: { chunkTokens: 64 },
    });
    const text = ["clock", "barometer", "telescope"].map(paragraph).join("\n\n");
    await putDocuments(system.session, [
      { tenant: "default", id: "manor", text, title: "The manor", expiresAt: null, createdAt: 1 },
    ]);
  });
  afterAll(() => system.stop());

  const about = (more: Partial<Request> = {}): Partial<Request> => ({
    documents: ["manor"],
    params: { maxTokens: 4, temperature: null, topP: null, seed: null, stop: [] },
    ...more,
  });

  test("a document is in the prompt once plan has it, and linked from the second request on", async () => {
    const first = await system.eventually("plan has the document", async () => {
      const response = await system.ask("Where is the clock?", about());
      return response.error?.code === "unknown_document" ? undefined : response;
    });
    expect(first.usage.prompt).toBeGreaterThan(100);
    expect(first.usage).toMatchObject({ recomputed: 0, linked: expect.any(Number) });
    const second = await system.ask("Who cleans the barometer?", about());
    expect(second).toMatchObject({ status: "ok", degraded: [], linkPolicy: "naive" });
    // All but the question.
    expect(second.usage.linked).toBeGreaterThan(100);
    expect(second.usage.linked + second.usage.prefilled).toBe(second.usage.prompt);
    const asked = await system.ask("Who oils it?", about({ metadata: { "link-policy": "full" } }));
    expect(asked).toMatchObject({ linkPolicy: "full", usage: { linked: 0 } });
    expect(asked.usage.recomputed).toBeGreaterThan(100);
  });

  test("a chunk is named by its number, and another tenant can name neither", async () => {
    const whole = await system.ask("Where is the clock?", about());
    const chunk = await system.ask("Where is the clock?", about({ documents: ["manor#2"] }));
    expect(chunk).toMatchObject({ status: "ok", degraded: [] });
    expect(chunk.usage.prompt).toBeLessThan(whole.usage.prompt - 64);
    const refused = { status: "refused", error: { code: "unknown_document" } };
    for (const more of [{ tenant: "other" }, { tenant: "other", documents: ["manor#1"] }, { documents: ["manor#9"] }])
      expect(await system.ask("Where is the clock?", about(more))).toMatchObject(refused);
  });

  test("an expired one can't be named any more", async () => {
    const text = paragraph("sundial");
    const put = (expiresAt: number | null) =>
      putDocuments(system.session, [
        { tenant: "default", id: "garden", text, title: null, expiresAt, createdAt: Date.now() },
      ]);
    const asked = () => system.ask("Where is the sundial?", about({ documents: ["garden"] }));
    await put(null);
    await system.eventually("plan has it", async () => ((await asked()).status === "ok" ? true : undefined));
    await put(Date.now());
    await system.eventually("it is expired", async () =>
      (await asked()).error?.code === "unknown_document" ? true : undefined,
    );
  });

  test("its caches are on disk, and what they cost in quality is in ClickHouse", async () => {
    const folder = join(system.config.stack.folder, "kv", "small");
    const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".kv"));
    // The system prompt and three pieces.
    expect(files.length).toBeGreaterThanOrEqual(4);
    const [row] = await system.eventually("samples are recorded", async () => {
      const rows = await system.session.clickhouse.query<{
        policy: string;
        samples: number;
        kl: number;
        share: number;
      }>(
        `SELECT policy, samples, mean_kl AS kl, mean_share AS share FROM ${system.config.clickhouse.database}.prefill_curve
         WHERE policy = 'naive' AND convention = 'seen' AND length(model) = 64`,
      );
      return rows.length > 0 ? rows : undefined;
    });
    expect(Number(row?.samples)).toBeGreaterThanOrEqual(1);
    // The very prefix that they were made behind: nothing to repair, and next to nothing lost.
    expect(row?.share).toBe(0);
    expect(row?.kl).toBeLessThan(0.05);
  });
}
