// Files that a configuration names and that are not there, by the paths of their keys. Only looks.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { embeddingModelParts } from "./assets.ts";
import { namedModel, namedModels } from "./models.ts";
import type { Problem } from "./problems.ts";
import type { Config } from "./schema.ts";
import { references } from "./sections/curate.ts";
import { fileKeys } from "./paths.ts";

type Path = Problem["path"];

/** Files that a loaded configuration, whose paths are absolute, names in vain. */
export function missingFiles(config: Config): Problem[] {
  const found: Problem[] = [];
  const need = (path: Path, file: string | undefined, what: string): void => {
    if (file !== undefined && !isFile(file)) found.push({ path, what: `there is no file ${file}: ${what}` });
  };
  for (const [index, arm] of config.arms.entries()) {
    const path = ["arms", index];
    if (arm.type === "recorded") need([...path, "file"], arm.file, "name a JSONL file of requests and responses");
    if (arm.type !== "llama") continue;
    need([...path, "chatTemplate"], arm.chatTemplate, "name a file with a Jinja template");
    // Set-up fetches those that it knows.
    if (arm.model === undefined || namedModel(arm.model) !== undefined) continue;
    const known = namedModels.map(({ name }) => name).join(", ");
    need([...path, "model"], arm.model, `name a GGUF file, or a model that set-up knows: ${known}`);
  }
  const { judge } = config.curate.exampleReplay;
  if (judge?.startsWith(references) === true)
    need(["curate", "exampleReplay", "judge"], judge.slice(references.length), "name a JSONL file of references");
  const model = config.embedder.type === "onnx" ? config.embedder.model : undefined;
  for (const part of embeddingModelParts)
    need(["embedder", "model"], model && join(model, part), "name a folder with model.onnx and tokenizer.json");
  for (const server of ["kafka", "registry", "clickhouse"] as const) credentials(config[server], [server], need);
  return found;
}

function credentials(section: object, path: Path, need: (path: Path, file: string, what: string) => void): void {
  for (const [key, value] of Object.entries(section) as [string, unknown][])
    if (typeof value === "string" && fileKeys.has(key)) need([...path, key], value, "correct the path");
    else if (typeof value === "object" && value !== null && !Array.isArray(value))
      credentials(value, [...path, key], need);
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();
