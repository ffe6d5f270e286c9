// Derives docs/configuration.md from config/: types, ranges and defaults from the schema itself,
// what a key means from the comment before it. `npm run reference` writes the file; the test beside
// this one fails when it is stale.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { z } from "zod";
import { armSchema, configSchema } from "../../config/schema.ts";
import { commonKeys } from "./common-keys.ts";
import { generatedParts } from "./parts.ts";

const configFolder = new URL("../../config/", import.meta.url);
export const referenceFile = fileURLToPath(new URL("../../docs/configuration.md", import.meta.url));

interface Node {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  items?: Node;
  properties?: Record<string, Node>;
  required?: string[];
  oneOf?: Node[];
  anyOf?: Node[];
}

/** Text of docs/configuration.md, before Prettier. */
export function generateReference(): string {
  const comments = commentsOf(schemaSources());
  const sections: Section[] = [];
  const top: Row[] = [];
  for (const [name, node] of Object.entries(jsonSchema(configSchema).properties ?? {})) {
    if (name === "arms") continue;
    const comment = comments.get(`config.${name}`);
    if (node.properties === undefined) top.push(row(name, node, false, comment));
    else sections.push({ title: name, comment, path: `${name}.`, rows: rows(node, name, comments) });
  }
  // A key that means the same for several types stands once, by the types that have it.
  const byKey = new Map<string, { types: string[]; row: Row }>();
  const types: string[] = [];
  for (const node of jsonSchema(armSchema).oneOf ?? []) {
    const type = String(node.properties?.["type"]?.const);
    types.push(type);
    for (const one of rows(node, `${type}Arm`, comments)) {
      if (one.key === "type") continue;
      const known = byKey.get(JSON.stringify(one)) ?? { types: [], row: one };
      known.types.push(type);
      byKey.set(JSON.stringify(one), known);
    }
  }
  const arms: Section[] = [];
  for (const { types: having, row } of byKey.values()) {
    const isCommon = having.length > types.length / 2;
    const title = `arms, ${isCommon ? "every type" : `type ${having.join(" or ")}`}`;
    const section = arms.find((other) => other.title === title);
    if (section === undefined) arms.push({ title, path: `arms.${having[0]}.`, rows: [row] });
    else section.rows.push(row);
  }
  arms[0]?.rows.push({ key: "type", cells: [`${types.map(code).join(", ")}; required`, ""] });
  const all: Section[] = [{ title: "Top level", path: "", rows: top }, ...sections, ...arms];
  const described = new Map<string, string>();
  return [preface, common(all), advancedPreface, ...all.flatMap((one) => advanced(one, described))].join("\n\n") + "\n";
}

interface Row {
  key: string;
  /** The other cells. */
  cells: string[];
}
interface Section {
  title: string;
  comment?: string | undefined;
  /** What stands before its keys in `commonKeys`. */
  path: string;
  rows: Row[];
}

/** One table of the keys that people set, by their whole path. Throws where one does not exist. */
function common(sections: readonly Section[]): string {
  const found = new Map(
    sections.flatMap(({ path, rows }) => rows.map(({ key, cells }) => [`${path}${key}`, cells] as const)),
  );
  const lines = commonKeys.map((key) => {
    const cells = found.get(key);
    if (cells === undefined) throw new Error(`no key ${key}: tools/generate/common-keys.ts`);
    const [value = "", text = ""] = cells;
    // What endpoint arms share stands at openai.
    const type = /^arms\.(?!openai)(\w+)\./.exec(key)?.[1];
    const shown = type === undefined ? cells : [value, `${type}: ${text}`];
    return { key: key.replace(/^arms\.\w+\./, "arms[]."), cells: shown };
  });
  return `## Keys that people set\n\n${table(lines)}`;
}

/**
 * The keys of a section that stand nowhere above, and the comments of their objects. `described`
 * has the nested keys of the sections before, with the section: tls.ca means the same in all.
 */
function advanced({ title, comment, path, rows }: Section, described: Map<string, string>): string[] {
  const inner = (key: string): Row[] => rows.filter((other) => other.key.startsWith(`${key}.`));
  const isLeft = ({ key, cells }: Row): boolean => {
    const keys = inner(key);
    return keys.length === 0 ? !commonKeys.includes(`${path}${key}`) : cells[1] !== "" && keys.some(isLeft);
  };
  const left: Row[] = [];
  const known = new Map<string, string[]>();
  for (const one of rows) {
    const { key, cells } = one;
    const id = JSON.stringify(one);
    const first = described.get(id);
    if (first !== undefined) known.set(first, [...(known.get(first) ?? []), key]);
    else if (isLeft(one))
      left.push({ key, cells: [inner(key).length > 0 ? "string" : (cells[0] ?? ""), cells[1] ?? ""] });
    if (key.includes(".") && first === undefined) described.set(id, title);
  }
  const same = [...known].map(([first, keys]) => `- ${keys.map(code).join(", ")}: as in ${first}`);
  if (left.length === 0 && same.length === 0) return [];
  const lines = [...same, ...(left.length === 0 ? [] : [list(left)])].join("\n");
  return [[`### ${title}`, ...(comment === undefined ? [] : [comment]), lines].join("\n\n")];
}

const preface = `# Configuration

<!-- Made by tools/generate/reference.ts from config/. Do not edit: run "npm run reference". -->

After this page you can write the configuration: one YAML file, \`precedent.yaml\` in the working folder or the one
that \`--config\` names. Without a file the defaults hold, with the one arm \`small\` of type \`llama\`. An arm is a
model that can answer. Unknown keys, wrong types and impossible combinations are refused before anything starts, all
at once, each with its line and what is allowed (\`precedent config check\`).

- \`\${NAME}\` and \`\${NAME:-otherwise}\` are filled in from the environment, in any string value; \`$\${\` is a plain \`\${\`. Secrets belong there.
- Relative paths are taken from the file's own folder.
- Keys that end in \`Ms\` are milliseconds. The first of several values is the default. Upper bounds of 100,000 and more are not shown.`;

const advancedPreface = `## Advanced

All other keys, with default and range in brackets; keys without are strings, or objects whose keys follow. Their
defaults serve until a page or a measurement of yours says otherwise.
\`arms\` holds 1 to 64 [arms](arms.md); where a type differs from every other, its section says so.`;

const schemaSources = (): string[] =>
  ["schema.ts", ...readdirSync(new URL("sections/", configFolder)).map((file) => `sections/${file}`)].map((file) =>
    readFileSync(new URL(file, configFolder), "utf8"),
  );

const jsonSchema = (schema: z.ZodType): Node =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as unknown as Node;

const table = (lines: readonly Row[]): string =>
  [
    "| key | default | |",
    "| --- | --- | --- |",
    ...lines.map(
      ({ key, cells }) => `| ${[code(key), ...cells].map((cell) => cell.replace(/\|/g, "\\|")).join(" | ")} |`,
    ),
  ].join("\n");

const list = (lines: readonly Row[]): string =>
  lines
    .map(({ key, cells: [value = "", text = ""] }) => {
      const shown = value === "string" ? "" : ` (${value.replace("; ", ", ")})`;
      return `- ${code(key)}${shown}${text === "" ? "" : `: ${text}`}`;
    })
    .join("\n");

/** One line a key; keys of nested objects follow with their path. */
function rows(node: Node, source: string, comments: ReadonlyMap<string, string>, path = ""): Row[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    // An object that is a constant of its own is named like the key that holds it.
    const sources = [
      source,
      `config.${source}`,
      source.replace(/Arm$/, ""),
      "endpointArm",
      "waitingArm",
      "armBase",
      path.split(".").at(-2) ?? "",
    ];
    const comment = sources.map((from) => comments.get(`${from}.${name}`)).find((text) => text !== undefined);
    const own = row(`${path}${name}`, child, node.required?.includes(name) ?? false, comment);
    // The alternative with keys.
    const shape = child.anyOf?.find(({ properties }) => properties !== undefined) ?? child;
    return [own, ...rows(shape, `${source}.${name}`, comments, `${path}${name}.`)];
  });
}

const row = (name: string, node: Node, required: boolean, comment = ""): Row => ({
  key: name,
  cells: [valueOf(node) + (required ? "; required" : ""), comment],
});

const code = (text: string): string => `\`${text}\``;

/** Default and range; the type where there is no default. */
function valueOf(node: Node): string {
  const { default: otherwise } = node;
  if (node.const !== undefined) return code(JSON.stringify(node.const));
  if (node.enum !== undefined) {
    const others = node.enum.filter((value) => value !== otherwise);
    return [...(otherwise === undefined ? [] : [otherwise]), ...others].map((value) => code(String(value))).join(", ");
  }
  if (node.properties !== undefined) return "object";
  const range = bounds(node);
  if (otherwise !== undefined) return code(JSON.stringify(otherwise)) + range;
  if (node.type === "array") return `list of ${valueOf(node.items ?? {})}`;
  if (node.format === "uri") return "URL";
  return [node.type ?? "any"].flat().join(" or ") + range;
}

/** Empty where the upper bound only guards against slips. */
function bounds({ minimum, exclusiveMinimum, maximum }: Node): string {
  if (maximum === undefined || maximum >= 100_000) return "";
  return minimum === undefined ? `; >${exclusiveMinimum ?? 0}..${maximum}` : `; ${minimum}..${maximum}`;
}

/**
 * Comments before the keys of object literals, by the constant and the keys that lead there:
 * kafka.brokers, config.instance.
 */
function commentsOf(sources: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (source: string, node: ts.Node, path: string): void => {
    let here = path;
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name))
      here = node.name.text.replace(/(?:Schema|Shape)$/, "");
    else if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name)) {
      here = `${path}.${node.name.text}`;
      const comment = jsDoc(source, node);
      if (comment !== undefined) found.set(here, comment);
    }
    // What superRefine holds is code.
    if (!(ts.isArrowFunction(node) || ts.isFunctionExpression(node)))
      ts.forEachChild(node, (child) => visit(source, child, here));
  };
  for (const source of sources)
    visit(source, ts.createSourceFile("schema.ts", source, ts.ScriptTarget.Latest, true), "");
  return found;
}

function jsDoc(source: string, node: ts.Node): string | undefined {
  const ranges = ts.getLeadingCommentRanges(source, node.getFullStart()) ?? [];
  const last = ranges.map(({ pos, end }) => source.slice(pos, end)).findLast((text) => text.startsWith("/**"));
  return last
    ?.replace(/^\/\*\*|\*\/$/g, "")
    .replace(/\n[ \t]*\*/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(referenceFile, generateReference());
  for (const { file, whole } of generatedParts) writeFileSync(file, whole(readFileSync(file, "utf8")));
}
