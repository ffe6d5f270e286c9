// precedent models check [FILE]: whether an arm can serve a GGUF file and link its caches, and the
// memory it needs. Without a file it lists what is refused and why.
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { modelFile } from "../config/models.ts";
import { armSchema, type LlamaArmConfig } from "../config/schema.ts";
import { type CheckedModel, checkModel, refusals } from "../connections/llama/check.ts";
import { llamaAddonFile } from "../connections/llama/library.ts";
import { CommandError, type Io } from "./io.ts";
import { tableOf } from "./reading.ts";

export function addModels(program: Command, io: Io): void {
  const models = program.command("models").description("models of llama arms");
  models
    .command("check")
    .description("whether an arm can serve a GGUF file and link its caches; without a file, what is refused and why")
    .argument("[file]", "a GGUF file, or a name of docs/arms.md")
    .option("--json", "as JSON")
    .action(async (file: string | undefined, { json = false }: { json?: boolean }) => {
      if (!existsSync(llamaAddonFile)) throw new CommandError('the llama addon is not built: run "npm run setup"');
      if (file === undefined) {
        const all = refusals();
        const rows = all.map(({ refused, why, decided, architectures }) => [
          ...[refused, why, decided, architectures.join(" ")],
        ]);
        io.out(
          json ? `${JSON.stringify(all, null, 2)}\n` : tableOf(["refused", "why", "decided by", "architectures"], rows),
        );
        return;
      }
      const arm = armSchema.parse({ name: "check", type: "llama", model: file }) as LlamaArmConfig;
      const path = modelFile(arm.model);
      if (!existsSync(path)) throw new CommandError(`there is no model at ${path}`);
      const { contextTokens, concurrency: sequences, kvType } = arm;
      const found = await checkModel(path, { contextTokens, sequences, kvType });
      io.out(json ? `${JSON.stringify(found, null, 2)}\n` : describeModel(path, arm, found));
      if (!found.served) throw new CommandError("no arm can serve it");
    });
}

const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
const mib = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MiB`;

/** Figures with the arm's defaults. */
function describeModel(path: string, { contextTokens, kvType }: LlamaArmConfig, found: CheckedModel): string {
  const lines: [string, string][] = [["file", path]];
  if (!found.served) lines.push(["served", `no: ${found.why}`]);
  else {
    const { facts, unlinkable, tokenBytes, modelBytes, contextBytes, computeBytes } = found;
    const all = modelBytes + contextBytes + computeBytes;
    lines.push(
      ["architecture", `${facts.architecture} (${facts.description}), ${facts.layers} layers`],
      ["served", "yes"],
      ["linked", unlinkable === null ? "yes" : `no: ${unlinkable}`],
      ["KV", `${kib(tokenBytes)} a token (${kvType})`],
      [
        "memory",
        `${mib(all)}: model ${mib(modelBytes)}, context of ${contextTokens} tokens ${mib(contextBytes)}, computing ${mib(computeBytes)}`,
      ],
    );
  }
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join("");
}
