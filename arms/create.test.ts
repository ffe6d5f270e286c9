import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it, vi } from "vitest";
import { armSchema } from "../config/schema.ts";
import { createArm } from "./create.ts";
import { armRequest } from "./request.testing.ts";

const log = pino({ level: "silent" });

describe("createArm", () => {
  it("makes an endpoint's arm without calling the endpoint", async () => {
    const config = armSchema.parse({
      name: "large",
      type: "openai",
      baseUrl: "http://127.0.0.1:9/v1",
      model: "m",
      concurrency: 3,
    });
    const arm = await createArm(config, { log });
    expect(arm).toMatchObject({ name: "large", model: "m", concurrency: 3 });
    await arm.close();
  });

  it.each([
    [
      { type: "llama", model: "/nowhere/model.gguf" },
      /Arm "a": there is no model at \/nowhere\/model\.gguf\. Check its "model"/,
    ],
    [{ type: "recorded", file: "/nowhere/log.jsonl" }, /log of arm "a" can't be read: .*\/nowhere\/log\.jsonl/],
  ])("says what is missing for %j", async (what, message) => {
    await expect(createArm(armSchema.parse({ name: "a", ...what }), { log })).rejects.toThrow(message);
  });

  it("says how to fetch a model of the registry that is not here", async () => {
    vi.stubEnv("PRECEDENT_CACHE", "/nowhere");
    const config = armSchema.parse({ name: "a", type: "llama", model: "Qwen2.5-Coder-0.5B-Instruct" });
    await expect(createArm(config, { log }).finally(() => vi.unstubAllEnvs())).rejects.toThrow(
      'Run "npm run setup -- --model Qwen2.5-Coder-0.5B-Instruct"',
    );
  });

  it.each([
    [{ linked: { policy: "craft-0.3" } }, "craft-0.3 needs the scattered addon: run"],
    [{ linked: { policy: "last-1+craft-0.3" }, kvType: "q8_0" }, "craft-0.3 needs kvType f16"],
    [{ linked: { policy: "craft-0.3" }, device: "auto" }, "craft-0.3 needs device cpu"],
    [{ linked: { policy: "craft-0.3", convention: "seen" } }, "caches of the convention seen have no scores"],
    [{ linked: { policy: "last-1+craft-1", convention: "alone" } }, "needs linked.convention context or system"],
  ])("says what a policy needs: %j", async (what, message) => {
    vi.stubEnv("PRECEDENT_LLAMA_SCATTERED", "");
    const config = armSchema.parse({ name: "a", type: "llama", model: import.meta.filename, ...what });
    await expect(createArm(config, { log }).finally(() => vi.unstubAllEnvs())).rejects.toThrow(message);
  });

  it("makes an arm whose answers are code where the configuration says so", async () => {
    const folder = mkdtempSync(join(tmpdir(), "precedent-create-"));
    try {
      const file = join(folder, "log.jsonl");
      writeFileSync(file, JSON.stringify({ request: "list all files", response: "```bash\nls -a\n```" }));
      const config = { name: "a", type: "recorded", file };
      const answerOf = async (more: object) => {
        const arm = await createArm(armSchema.parse({ ...config, ...more }), { log });
        return arm.answer(armRequest(), new AbortController().signal);
      };
      expect(await answerOf({ answerAs: "code" })).toMatchObject({ text: "ls -a" });
      expect(await answerOf({})).toMatchObject({ text: "```bash\nls -a\n```" });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
