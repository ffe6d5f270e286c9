// Derives schemas/types.ts from schemas/avro: the schemas are the contract and say what fields
// mean, the types only follow.
// `npm run types` writes the file; schemas/types.test.ts fails when it is stale.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

type Schema =
  string | Schema[] | { type: Schema; name?: string; doc?: string; items?: Schema; values?: Schema; fields?: Field[] };
interface Field {
  name: string;
  type: Schema;
}

const primitives: Record<string, string> = {
  string: "string",
  boolean: "boolean",
  int: "number",
  long: "number",
  float: "number",
  double: "number",
  bytes: "Buffer",
  null: "null",
};

/** Text of schemas/types.ts for every schema in a folder; a named record is declared once. */
export function generateTypes(folder: string): string {
  const declared = new Map<string, string>();

  const typeOf = (schema: Schema): string => {
    if (typeof schema === "string") return primitives[schema] ?? schema.replace(/^precedent\./, "");
    if (Array.isArray(schema)) {
      return schema
        .map(typeOf)
        .sort((a, b) => Number(a === "null") - Number(b === "null"))
        .join(" | ");
    }
    if (schema.type === "record") return declare(schema);
    if (schema.type === "array") {
      const item = typeOf(schema.items ?? "null");
      return /[ |]/.test(item) ? `(${item})[]` : `${item}[]`;
    }
    if (schema.type === "map") return `Record<string, ${typeOf(schema.values ?? "null")}>`;
    if (schema.type === "string" && Array.isArray(schema.values)) {
      return schema.values.map((value) => JSON.stringify(value)).join(" | ");
    }
    return typeOf(schema.type);
  };

  const declare = (schema: Exclude<Schema, string | Schema[]>): string => {
    const name = schema.name ?? "Unnamed";
    if (declared.has(name)) return name;
    declared.set(name, "");
    const lines = (schema.fields ?? []).map((field) => `  ${field.name}: ${typeOf(field.type)};`);
    const doc = schema.doc === undefined ? "" : `/** ${schema.doc} */\n`;
    declared.set(name, `${doc}export interface ${name} {\n${lines.join("\n")}\n}\n`);
    return name;
  };

  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".avsc"))
    .sort()
    .map((file) => {
      const type = typeOf(JSON.parse(readFileSync(`${folder}/${file}`, "utf8")) as Schema);
      return `  ${JSON.stringify(file.replace(/\.avsc$/, ""))}: ${type};\n`;
    });
  const records = `/** The record of each file, by its name without extension. */\nexport interface RecordFiles {\n${files.join("")}}\n`;
  return `// Made by tools/generate/types.ts from schemas/avro, which says what the fields mean. Do not edit: run "npm run types".\n\n${[...declared.values(), records].join("\n")}`;
}

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(path("../../schemas/types.ts"), generateTypes(path("../../schemas/avro")));
}
