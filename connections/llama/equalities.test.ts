// What linked prefill must not change, checked by the core's own program (native/llama/gpu-check)
// against plain llama.cpp: on tiny models of both RoPE types, YaRN and frequency factors, and on
// the small arm's model where set-up has brought it. npm test walks a seeded part of the random
// links, takes few orders of the chunks and one architecture of trained weights; npm run soak all
// of it, with a seed of the time.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelFile } from "../../config/models.ts";
import { llamaBackendsFolder, llamaCheckFile, scatteredCheckFile } from "./library.ts";
import { createTinyModels, llamaIsBuilt, type TinyModels } from "./models.testing.ts";

const full = process.env.PRECEDENT_FULL_COUNTS !== undefined;
/** Random links of a tiny model; orders of the chunks of the small arm's model and of others. */
const counts = full ? { rounds: 400, served: [], others: 2 } : { rounds: 60, served: ["--orders", "2"], others: 1 };
const someOrders = ["--orders", String(counts.others)];
const qwen = "Qwen2.5-Coder-0.5B-Instruct";

async function equalities(
  model: string,
  rounds: number,
  seconds: number,
  more: string[] = [],
  program = llamaCheckFile,
): Promise<string> {
  const given = ["equalities", model, "--backends", llamaBackendsFolder(), "--rounds", String(rounds), ...more];
  const seed = ["--seconds", String(seconds), "--seed", String(full ? Date.now() % 100_000 : 7)];
  const outcome = await promisify(execFile)(program, [...given, ...seed]).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  return outcome.stdout + outcome.stderr;
}

describe.skipIf(!llamaIsBuilt)("equalities of linked prefill (npm run setup builds the program)", () => {
  let models: TinyModels;
  beforeAll(async () => {
    models = await createTinyModels();
  });
  afterAll(() => models?.remove());

  it.each(["tiny", "tiny-neox", "tiny-yarn", "tiny-factors"] as const)(
    "hold on %s, and in random company",
    async (shape) => {
      const said = await equalities(await models.file(shape), counts.rounds, 20);
      expect(said).toMatch(/random links.*\n/);
      expect(said, said).toMatch(/all hold\n$/);
    },
    180_000,
  );

  // Where a prompt's computed runs go into one batch.
  describe.skipIf(!existsSync(scatteredCheckFile))(
    "in scattered batches (npm run setup -- --scattered builds it)",
    () => {
      it.each(["tiny", "tiny-neox", "tiny-yarn", "tiny-factors"] as const)(
        "hold on %s, and in random company",
        async (shape) => {
          const said = await equalities(await models.file(shape), counts.rounds, 20, [], scatteredCheckFile);
          expect(said).toMatch(/^batches are scattered$/m);
          expect(said).toMatch(/random links.*\n/);
          expect(said, said).toMatch(/all hold\n$/);
        },
        180_000,
      );

      it("is what a process gets that asks for it, and says so", async () => {
        const program = `
          const { openLlamaModel } = await import(${JSON.stringify(new URL("model.ts", import.meta.url).href)});
          const model = await openLlamaModel({ path: process.argv[1], fingerprint: "0".repeat(64) });
          const context = await model.openContext({ contextTokens: 256 });
          process.stdout.write(String(context.scattered));
          await context.close();`;
        const given = ["--import", "tsx", "--input-type=module", "-e", program, await models.file("tiny")];
        const scattered = async (value: string): Promise<string> => {
          const env = { ...process.env, PRECEDENT_LLAMA_SCATTERED: value };
          return (await promisify(execFile)(process.execPath, given, { env })).stdout;
        };
        expect([await scattered("1"), await scattered("")]).toEqual(["true", "false"]);
      }, 60_000);
    },
  );

  // Trained weights, on text whose parts rest on each other: as served, and as float32, where
  // rounding is a hundred times smaller. The second is of another architecture: qwen2 (NEOX
  // rotations, grouped queries, one matrix for input and output).
  it.skipIf(!existsSync(modelFile()))(
    "hold on the small arm's model (npm run setup fetches it)",
    async () => {
      const said = await equalities(modelFile(), 0, 1, ["--trained", "--cache", "f16", ...counts.served]);
      expect(said, said).toMatch(/all hold\n$/);
    },
    1_200_000,
  );
  it.skipIf(!full || !existsSync(modelFile(qwen)))(
    `hold on ${qwen} (npm run soak; npm run setup -- --model ${qwen})`,
    async () => {
      const said = await equalities(modelFile(qwen), 0, 1, ["--trained", "--cache", "f16", ...someOrders]);
      expect(said, said).toMatch(/all hold\n$/);
    },
    1_200_000,
  );
  it.skipIf(!existsSync(modelFile()))(
    "hold on the small arm's model in float32",
    async () => {
      const file = `${await models.file("tiny")}.f32`;
      try {
        const given = ["convert", modelFile(), file, "f32", "--backends", llamaBackendsFolder()];
        await promisify(execFile)(llamaCheckFile, given);
        const said = await equalities(file, 0, 1, ["--trained", "--cache", "f16", ...someOrders]);
        expect(said, said).toMatch(/all hold\n$/);
      } finally {
        await rm(file, { force: true });
      }
    },
    1_200_000,
  );
});
