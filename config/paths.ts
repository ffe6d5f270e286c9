// Relative paths of a configuration, taken from the folder of its file.
import { isAbsolute, resolve } from "node:path";
import { namedModel } from "./models.ts";
import type { ArmConfig, Config } from "./schema.ts";
import { references } from "./sections/curate.ts";

/** Keys of TLS and credentials whose values are files. */
export const fileKeys = new Set(["ca", "cert", "key", "passwordFile", "clientSecretFile", "tokenFile"]);

/** A server's section with the files of its TLS and credentials made absolute, however deep. */
function filesIn<T extends object>(section: T, absolute: (path: string) => string): T {
  const made = Object.entries(section).map(([key, value]: [string, unknown]) => {
    if (typeof value === "string" && fileKeys.has(key)) return [key, absolute(value)];
    return [
      key,
      typeof value === "object" && value !== null && !Array.isArray(value) ? filesIn(value, absolute) : value,
    ];
  });
  return Object.fromEntries(made) as T;
}

export function resolvePaths(config: Config, folder: string): Config {
  const absolute = (path: string): string => (isAbsolute(path) ? path : resolve(folder, path));
  const arms = config.arms.map((arm): ArmConfig => {
    if (arm.type === "recorded") return { ...arm, file: absolute(arm.file) };
    if (arm.type !== "llama") return arm;
    const { model, chatTemplate } = arm;
    return {
      ...arm,
      // A name of the registry stays one.
      ...(model !== undefined && namedModel(model) === undefined && { model: absolute(model) }),
      ...(chatTemplate !== undefined && { chatTemplate: absolute(chatTemplate) }),
    };
  });
  const { model, type } = config.embedder;
  const { exampleReplay } = config.curate;
  const judge = exampleReplay.judge?.startsWith(references)
    ? `${references}${absolute(exampleReplay.judge.slice(references.length))}`
    : exampleReplay.judge;
  return {
    ...config,
    kafka: filesIn(config.kafka, absolute),
    registry: filesIn(config.registry, absolute),
    clickhouse: filesIn(config.clickhouse, absolute),
    curate: { ...config.curate, exampleReplay: { ...exampleReplay, ...(judge === undefined ? {} : { judge }) } },
    arms,
    stack: { folder: absolute(config.stack.folder) },
    embedder: { ...config.embedder, ...(model === undefined || type === "openai" ? {} : { model: absolute(model) }) },
  };
}
