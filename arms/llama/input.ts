// What a llama arm's process is started with, from its configuration.
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isCraft } from "../../algorithms/linked-prefill/link-policy.ts";
import { modelFile, namedModel } from "../../config/models.ts";
import type { LlamaArmConfig } from "../../config/schema.ts";
import { chosenAddonFile, scatteredAddonFile } from "../../connections/llama/library.ts";
import type { Piece } from "../../schemas/types.ts";
import type { BuildItem } from "../linked/build.ts";
import { neededForScores } from "../linked/impact.ts";
import { templates } from "../templates.ts";
import type { LlamaInput } from "./methods.ts";

/** kvFolder: of all arms' caches; absent: memory only. Rejects when there is no such model file. */
export async function llamaInput(config: LlamaArmConfig, kvFolder: string | undefined): Promise<LlamaInput> {
  const model = modelFile(config.model);
  await access(model).catch((error: unknown) => {
    const hint =
      config.model === undefined
        ? 'Run "npm run setup", or set "model".'
        : namedModel(config.model) === undefined
          ? 'Check its "model": a file, or a name of docs/arms.md.'
          : `Run "npm run setup -- --model ${config.model}".`;
    throw new Error(`Arm "${config.name}": there is no model at ${model}. ${hint}`, { cause: error });
  });
  refuseUnscored(config);
  return {
    ...{ model, system: config.system ?? null },
    chatTemplate: config.chatTemplate === undefined ? null : await readFile(config.chatTemplate, "utf8"),
    contextTokens: config.contextTokens,
    threads: config.threads,
    sequences: config.concurrency,
    kvType: config.kvType,
    ...{ device: config.device, gpuLayers: config.gpuLayers ?? null, flashAttention: config.flashAttention },
    linked: {
      ...config.linked,
      memoryBytes: config.linked.memoryBytes ?? null,
      folder: kvFolder === undefined ? null : join(kvFolder, config.name),
      fingerprint: null,
      keepInFull: config.linked.policy !== "full",
    },
  };
}

/** craft goes by scores; an arm that makes none would compute every passage whole. */
function refuseUnscored({ name, kvType, device, linked: { policy, convention } }: LlamaArmConfig): void {
  const isScattered = chosenAddonFile() === scatteredAddonFile;
  const needed = neededForScores({ kvType, isOnCpu: device === "cpu", convention, isScattered });
  if (!isCraft(policy) || needed === null) return;
  throw new Error(`Arm "${name}": linked.policy ${policy} needs ${needed}. Or choose another policy, such as auto.`);
}

/** Whether its idle time makes caches: only conventions that don't need the prompt itself do. */
export const buildsCaches = ({ template, linked }: Pick<LlamaArmConfig, "template" | "linked">): boolean =>
  templates[template].linkable && linked.policy !== "full" && linked.build === "idle" && linked.convention !== "seen";

/** A prompt that shows the examples of an item, as the arm's template writes it. */
export const piecesOf = ({ template, system }: LlamaArmConfig, { examples }: BuildItem): Piece[] =>
  templates[template].pieces({
    ...{ system, examples },
    messages: [{ role: "user", content: examples.at(-1)?.request ?? "" }],
  });
