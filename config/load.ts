// Reads precedent.yaml whole, before anything starts: ${ENV} filled in, every problem listed at
// once with its line, paths taken from the file's own folder. Secrets are never part of a message.
import { existsSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { LineCounter, isMap, isNode, isScalar, isSeq, parseDocument, type Document } from "yaml";
import { namedModel } from "./models.ts";
import { pathText, problemsOf, valueAt, type Problem } from "./problems.ts";
import { configShape, refuseSenseless, type ArmConfig, type Config } from "./schema.ts";
import { references } from "./sections/curate.ts";

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

type Environment = Readonly<Record<string, string | undefined>>;
type Path = readonly (string | number)[];

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
    config: parseConfig(readFileSync(path, "utf8"), { source: file ?? defaultFile, folder, environment, ...options }),
    file: path,
    folder,
  };
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

/** Wrong keys are reported, then left out, so that what the others say is checked, too. */
function readWhole(data: unknown): { config: Config | undefined; found: Problem[] } {
  const shaped = configShape.safeParse(data);
  const issues = (shaped.error?.issues ?? []).flatMap((issue) => problemsOf(configShape, data, issue));
  // Too large for a whole number is too large for its key, too.
  const found = issues.filter(
    ({ path, what }, at) =>
      !issues.slice(at + 1, at + 2).some((next) => pathText(next.path) === pathText(path) && next.what === what),
  );
  const paths = found.map(({ path }) => path);
  const some = without(data, paths);
  let rest = shaped.success ? shaped : configShape.safeParse(some);
  if (!rest.success)
    rest = configShape.safeParse(
      without(
        some,
        rest.error.issues.map(({ path }) => whole(path)),
      ),
    );
  if (!rest.success) return { config: undefined, found };
  const wrong = new Set(paths.map((path) => pathText(whole(path))));
  refuseSenseless(rest.data, (path, what) => {
    // Within a section it may only follow from what was left out.
    if (ofArms.has(String(path[0])) || !wrong.has(pathText(whole(path)))) found.push({ path, what });
  });
  return { config: rest.data, found };
}

/** Sections of which only names of arms are compared with others. */
const ofArms = new Set(["routing", "learn", "curate"]);

/** The arm or section that a key is in. */
const whole = (path: readonly PropertyKey[]): Path => path.slice(0, path[0] === "arms" ? 2 : 1) as Path;

/** An arm is left out by one that has its name and nothing else. */
function without(data: unknown, paths: readonly Path[]): unknown {
  const copy: unknown = structuredClone(data);
  for (const path of paths) {
    const parent = valueAt(copy, path.slice(0, -1));
    const last = path.at(-1);
    if (typeof parent !== "object" || parent === null || last === undefined) continue;
    const name = valueAt(parent, [last, "name"]);
    if (!Array.isArray(parent)) Reflect.deleteProperty(parent, last);
    else if (path.length === 2) parent[Number(last)] = { name, type: "llama" } as unknown;
  }
  return copy;
}

/** Names of the arms, in the order of the configuration. */
export const armsOf = (config: Config): string[] => config.arms.map(({ name }) => name);

const tell = ({ path, what, allowed }: Problem): string =>
  `${pathText(path)}: ${what}${allowed === undefined || allowed === "" ? "" : `; allowed: ${allowed}`}`;

/** Fills ${NAME} and ${NAME:-otherwise} into every string value; $${ stands for a plain ${. */
function substitute(
  document: Document,
  environment: Environment,
  callsArms: boolean,
): { problems: Problem[]; secrets: string[] } {
  const problems: Problem[] = [];
  const secrets: string[] = [];
  const fill = (text: string, path: Path): string =>
    text.replace(/\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (whole, name?: string, otherwise?: string) => {
      if (name === undefined) return "${";
      const value = environment[name];
      if (value !== undefined && value !== "") {
        secrets.push(value);
        return value;
      }
      if (otherwise !== undefined) return otherwise;
      // A placeholder that is valid as a key, a name and an address.
      if (!callsArms && path[0] === "arms") return whole === text ? "http://unset.invalid" : "unset";
      problems.push({
        path,
        what: `environment variable ${name} is not set`,
        allowed: `set it, or write \${${name}:-value}`,
      });
      return whole;
    });
  const walk = (node: unknown, path: Path): void => {
    if (isScalar(node)) {
      if (typeof node.value === "string") node.value = fill(node.value, path);
    } else if (isSeq(node)) {
      node.items.forEach((item, index) => {
        walk(item, [...path, index]);
      });
    } else if (isMap(node)) {
      for (const { key, value } of node.items) walk(value, [...path, isScalar(key) ? String(key.value) : String(key)]);
    }
  };
  walk(document.contents, []);
  return { problems, secrets };
}

/** "line 7: " of a key, or of the nearest key above it that is there. */
function lineOf(document: Document, lines: LineCounter, path: readonly (string | number)[]): string {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return `line ${lines.linePos(node.range[0]).line}: `;
  }
  return "";
}

function hide(message: string, secrets: readonly string[]): string {
  return secrets.reduce((text, secret) => (secret.length < 4 ? text : text.replaceAll(secret, "[secret]")), message);
}

const firstLine = (text: string): string => (text.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");

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

function resolvePaths(config: Config, folder: string): Config {
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
