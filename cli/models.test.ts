import { mkdtempSync, rmSync, truncateSync, writeFileSync, copyFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CheckedModel, Refusal } from "../connections/llama/check.ts";
import { createTinyModels, llamaIsBuilt, type TinyModels } from "../connections/llama/models.testing.ts";
import { runCommand } from "./run.testing.ts";

describe.skipIf(!llamaIsBuilt)("models check (npm run setup builds the addon)", () => {
  let models: TinyModels;
  let folder = "";
  beforeAll(async () => {
    models = await createTinyModels();
    folder = mkdtempSync(join(tmpdir(), "precedent-models-"));
  });
  afterAll(async () => {
    await models.remove();
    rmSync(folder, { recursive: true });
  });

  const check = async (...given: string[]) => runCommand(folder, ["models", "check", ...given]);
  const checked = async (file: string) => JSON.parse((await check(file, "--json")).out) as CheckedModel;

  it("says what a model takes: 3 layers, 64 dimensions of K and V in f16", async () => {
    const { code, out } = await check(await models.file("tiny"));
    expect(code).toBe(0);
    expect(out).toMatch(
      /architecture +llama .*\nserved +yes\nlinked +yes\nKV +0\.8 KiB a token \(f16\)\nmemory +\d+ MiB: model/,
    );
    expect(await checked(await models.file("tiny"))).toMatchObject({
      ...{ served: true, unlinkable: null, tokenBytes: 3 * 2 * 64 * 2, contextBytes: 2048 * 3 * 2 * 64 * 2 },
    });
  });

  it.each([
    ["tiny-mrope", /M-RoPE/, true],
    ["tiny-positions", /rotary/, true],
    // Windows and recurrent states don't grow with the tokens.
    ["tiny-window", /sliding-window/, false],
    ["tiny-recurrent", /recurrent/, false],
  ] as const)("says why %s is not linked, and what a token takes", async (shape, why, grows) => {
    const found = await checked(await models.file(shape));
    expect(found).toMatchObject({ served: true, unlinkable: expect.stringMatching(why) });
    if (found.served) expect(found.tokenBytes > 0).toBe(grows);
  });

  it("refuses what is no model, is cut off or is not there, with the reason", async () => {
    const text = join(folder, "text.gguf");
    writeFileSync(text, "GGUF, it says");
    const cut = join(folder, "cut.gguf");
    copyFileSync(await models.file("tiny"), cut);
    truncateSync(cut, Math.floor(statSync(cut).size / 2));
    for (const file of [text, cut]) {
      const { code, out, note } = await check(file);
      expect(code).toBe(1);
      expect(out).toMatch(/served +no: \S/);
      expect(note).toContain("no arm can serve it");
    }
    expect(await check(join(folder, "none.gguf"))).toMatchObject({
      code: 1,
      note: expect.stringContaining("there is no model at"),
    });
  });

  it("lists what is refused, with the architectures of this llama.cpp", async () => {
    const all = JSON.parse((await check("--json")).out) as Refusal[];
    const named = (why: RegExp) => all.filter((one) => why.test(one.why)).flatMap(({ architectures }) => architectures);
    expect(named(/recurrent/)).toEqual(expect.arrayContaining(["mamba", "rwkv7", "jamba"]));
    expect(named(/M-RoPE/)).toContain("qwen2vl");
    expect(named(/rotary/)).toEqual(expect.arrayContaining(["gpt2", "bloom"]));
    expect(named(/encoder/)).toContain("t5");
    expect(all.flatMap(({ architectures }) => architectures)).not.toContain("llama");
  });
});
