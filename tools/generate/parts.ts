// Parts of hand-written pages that are derived from the code, between two comments that name them:
// the flow in docs/topology.md and that of tenants' own topics in docs/security.md, from what the
// stages declare; the import rules in CONTRIBUTING.md, from what the linter enforces; tables and
// views in docs/clickhouse.md, from the comments in schemas/clickhouse; the models that are refused
// in docs/linked-prefill.md, from the addon. `npm run reference` writes
// them; the test beside this file fails when one is stale.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { armsOf, loadConfig } from "../../config/load.ts";
import { topicOwners } from "../../config/tenants.ts";
import { refusals } from "../../connections/llama/check.ts";
import { llamaAddonFile } from "../../connections/llama/library.ts";
import { isForTenants, toMermaid, topology } from "../../pipelines/topology.ts";
import { describeSchema, type SchemaObject } from "./schema.ts";
import { compositions, modules, packages, ports, tests, type Module } from "../lint/import-rules.mjs";

export interface GeneratedPart {
  file: string;
  /** The page with this part regenerated. Throws without the part's comments. */
  whole(page: string): string;
}

const page = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

/** Where there is no configuration file, as `precedent topology` draws it there. */
function flow(): string {
  const { config } = loadConfig({ cwd: fileURLToPath(new URL(".", import.meta.url)) });
  return toMermaid(topology, topicOwners(config, armsOf(config)));
}

/** What is added to the flow where tenants have topics of their own. */
const tenantFlow = (): string =>
  toMermaid(topology.filter(isForTenants), { arms: [], tenants: ["TENANT"], streaming: [] }, topology);

/** The diagram with one line for consecutive edges of one node: `a & b --> c`. */
function joined(diagram: string): string {
  const lines: { text: string; edge?: { from: string[]; arrow: string; to: string[] } }[] = [];
  for (const text of diagram.trimEnd().split("\n")) {
    const [, from, arrow, to] = /^ {2}(\w+) (-->|-\.->) (\w+)$/.exec(text) ?? [];
    const last = lines.at(-1)?.edge;
    if (from === undefined || arrow === undefined || to === undefined) lines.push({ text });
    else if (last?.arrow === arrow && last.to.length === 1 && last.to[0] === to) last.from.push(from);
    else if (last?.arrow === arrow && last.from.length === 1 && last.from[0] === from) last.to.push(to);
    else lines.push({ text, edge: { from: [from], arrow, to: [to] } });
  }
  const drawn = lines.map(({ text, edge }) =>
    edge === undefined ? text : `  ${edge.from.join(" & ")} ${edge.arrow} ${edge.to.join(" & ")}`,
  );
  return `${drawn.join("\n")}\n`;
}

export const generatedParts: readonly GeneratedPart[] = [
  {
    file: page("docs/topology.md"),
    whole: (text) => replacePart(text, "topology", `\`\`\`mermaid\n${joined(flow())}\`\`\``),
  },
  {
    file: page("docs/security.md"),
    whole: (text) => replacePart(text, "topics of tenants", `\`\`\`mermaid\n${joined(tenantFlow())}\`\`\``),
  },
  { file: page("CONTRIBUTING.md"), whole: (text) => replacePart(text, "import rules", importRules()) },
  {
    file: page("docs/linked-prefill.md"),
    whole: (text) => replacePart(text, "refused models", refusedModels() ?? partOf(text, "refused models")),
  },
  { file: page("docs/clickhouse.md"), whole: (text) => replacePart(text, "tables and views", tablesAndViews()) },
];

const list = (items: readonly string[]): string => items.map((item) => `\`${item}\``).join(", ");

const row = (...cells: string[]): string => `| ${cells.join(" | ")} |`;

function importRules(): string {
  const rules = packages.map(({ packages: names, within, use }) => row(list(names), list(within), use));
  return [
    row("module", "what it contains", "may import"),
    row("---", "---", "---"),
    ...modules.map((module) => row(`\`${module.name}/\``, module.about, mayImport(module))),
    "",
    "`tools/lint/import-rules.mjs` lists the files where only some may be imported.",
    "",
    `Ports (${list(ports)}) own their types: they only import other ports. Compositions (${list([compositions.files])}) only import ${list(compositions.imports)}. Tests are exempt (${list(tests)}).`,
    "",
    row("packages, files", "only in", "others use"),
    row("---", "---", "---"),
    ...rules,
  ].join("\n");
}

function mayImport({ imports, only = {}, folders }: Module): string {
  if (imports === "everything") return "everything; nothing else imports it";
  const modules = imports.map((name) => {
    const files = only[name]?.map((file) => `${file}.ts`);
    if (files === undefined) return name;
    return `${name} (${files.length > 2 ? `${files.length} files` : list(files)})`;
  });
  const others = folders === "apart" ? ["none of its folders another"] : [];
  return [...modules, ...others].join(", ") || "nothing";
}

/** A section for each file that creates something. */
function tablesAndViews(): string {
  const sections = describeSchema().flatMap(({ name, objects }) => {
    if (objects.length === 0) return [];
    const title = name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
    return [`### ${title}\n\n${objects.map(schemaLine).join("\n")}`];
  });
  return sections.join("\n\n");
}

/** With the identity of a table's rows. */
function schemaLine({ name, comment, key }: SchemaObject): string {
  return `- \`${name}\`${key.length === 0 ? "" : ` (${key.join(", ")})`}: ${comment}`;
}

/** Undefined where the addon, which knows them, was not built. */
function refusedModels(): string | undefined {
  if (!existsSync(llamaAddonFile)) return undefined;
  const rows = refusals().map(({ refused, why, decided }) => row(refused, why, decided));
  return [row("refused", "why", "decided by"), row("---", "---", "---"), ...rows].join("\n");
}

/** Where the part stands: the ends of its first comment and the beginning of its last. */
function placeOf(text: string, name: string): [number, number] {
  const begin = `<!-- ${name}: made by "npm run reference" -->`;
  const end = `<!-- end of ${name} -->`;
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`the page has no part "${name}": put ${begin} and ${end} where it belongs`);
  return [from + begin.length, to];
}

const partOf = (text: string, name: string): string => text.slice(...placeOf(text, name)).trim();

function replacePart(text: string, name: string, part: string): string {
  const [from, to] = placeOf(text, name);
  return `${text.slice(0, from)}\n\n${part}\n\n${text.slice(to)}`;
}
