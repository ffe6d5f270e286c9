// Reads precedent.yaml whole, before anything starts: ${ENV} filled in, every problem listed at
// once with its line, paths taken from the file's own folder. Secrets are never part of a message.
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { LineCounter, isNode, parseDocument, type Document } from "yaml";
import { hide, substitute, type Environment } from "./environment.ts";
import { resolvePaths } from "./paths.ts";
import { pathText, type Problem } from "./problems.ts";
import { readWhole } from "./read.ts";
import type { Config } from "./schema.ts";

const defaultFile = "precedent.yaml";

export class ConfigError extends Error {
  override name = "ConfigError";
  constructor(
    readonly source: string,
    /** One line each. */
    readonly problems: readonly string[],
  ) {
    super(
      `${source}: ${problems.length} ${problems.length === 1 ? "problem" : "problems"}\n${problems.map((line) => `  ${line}`).join("\n")}`,
    );
  }
}

export interface LoadOptions extends Pick<ParseOptions, "more" | "callsArms"> {
  /** Absent: precedent.yaml in `cwd` if there, else the defaults with the arm `small`. */
  file?: string | undefined;
  cwd?: string;
  environment?: Environment;
}

export interface LoadedConfig {
  config: Config;
  /** Absolute; null when there was none and the defaults hold. */
  file: string | null;
  /** Against which relative paths were resolved. */
  folder: string;
}

/** Throws ConfigError with every problem. */
export function loadConfig({
  file,
  cwd = process.cwd(),
  environment = process.env,
  ...options
}: LoadOptions = {}): LoadedConfig {
  const path = resolve(cwd, file ?? defaultFile);
  if (!existsSync(path)) {
    if (file !== undefined) throw new ConfigError(file, ["there is no such file"]);
    return {
      config: parseConfig("arms: [{ name: small, type: llama }]", {
        source: "defaults",
        folder: cwd,
        environment,
        ...options,
      }),
      file: null,
      folder: cwd,
    };
  }
  const folder = dirname(path);
  return {
    config: parseConfig(read(path, file), { source: file ?? defaultFile, folder, environment, ...options }),
    file: path,
    folder,
  };
}

/** Node.js does not name a folder that it can't read as a file. */
function read(path: string, source = defaultFile): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(source, [
      code === "EISDIR" ? "this is a folder: name the file in it" : `it can't be read: ${message}`,
    ]);
  }
}

export interface ParseOptions {
  /** Names the text in messages. */
  source: string;
  /** Relative paths in it are taken from here. */
  folder: string;
  environment: Environment;
  /** Looks further, at files for one; also where keys are wrong, at what is right. */
  more?: ((config: Config) => readonly Problem[]) | undefined;
  /** False: variables that arms name need not be set. The shell of a query rarely has them. */
  callsArms?: boolean | undefined;
}

/** The text of a configuration, checked. Throws ConfigError. */
export function parseConfig(
  text: string,
  { source, folder, environment, more, callsArms = true }: ParseOptions,
): Config {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0) {
    throw new ConfigError(
      source,
      document.errors.map((error) => `line ${error.linePos?.[0].line ?? "?"}: ${firstLine(error.message)}`),
    );
  }
  const { problems, secrets } = substitute(document, environment, callsArms);
  const data: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  const { config, found } = readWhole(data);
  const unset = new Set(problems.map(({ path }) => pathText(path)));
  for (const problem of found) {
    const [section, index, key] = problem.path;
    const arm = callsArms || section !== "arms" ? undefined : config?.arms[Number(index)];
    // An unknown address has no catalogue prices, and these commands charge nothing.
    if (arm !== undefined && key === "prices" && "prices" in arm) arm.prices = { prompt: 0, completion: 0 };
    else if (!unset.has(pathText(problem.path))) problems.push(problem);
  }
  const resolved = config === undefined ? undefined : resolvePaths(config, folder);
  if (resolved !== undefined && more !== undefined) problems.push(...more(resolved));
  if (resolved === undefined || problems.length > 0) {
    const reported = problems.map((problem) =>
      hide(`${lineOf(document, lines, problem.path)}${tell(problem)}`, secrets),
    );
    throw new ConfigError(source, reported);
  }
  return resolved;
}

/** Names of the arms, in the order of the configuration. */
export const armsOf = (config: Config): string[] => config.arms.map(({ name }) => name);

const tell = ({ path, what, allowed }: Problem): string =>
  `${pathText(path)}: ${what}${allowed === undefined || allowed === "" ? "" : `; allowed: ${allowed}`}`;

/** "line 7: " of a key, or of the nearest key above it that is there. */
function lineOf(document: Document, lines: LineCounter, path: readonly (string | number)[]): string {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return `line ${lines.linePos(node.range[0]).line}: `;
  }
  return "";
}

const firstLine = (text: string): string => (text.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
