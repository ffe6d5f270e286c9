// Ports stay narrow: an interface with more than six methods is several ports, and users of one of
// them depend on all.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";
import { ports } from "./import-rules.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const most = 6;

const isFunction = (member: ts.TypeElement): boolean =>
  ts.isMethodSignature(member) ||
  (ts.isPropertySignature(member) && member.type !== undefined && ts.isFunctionTypeNode(member.type));

function wide(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(root + file, "utf8"), ts.ScriptTarget.Latest);
  return source.statements
    .filter(ts.isInterfaceDeclaration)
    .map(({ name, members }) => ({ name: name.text, methods: members.filter(isFunction).length }))
    .filter(({ methods }) => methods > most)
    .map(({ name, methods }) => `${file}: ${name} has ${methods}`);
}

it(`no interface of a port has more than ${most} methods of its own`, () => {
  const files = ports.flatMap((port) => {
    const [folder = ""] = port.split("/");
    const pattern = new RegExp(`^${port.replaceAll(".", "\\.").replaceAll("*", "[^/]*")}$`);
    return readdirSync(root + folder, { recursive: true, encoding: "utf8" })
      .map((file) => join(folder, file))
      .filter((file) => pattern.test(file));
  });
  expect(files).toContain("connections/kafka/port.ts");
  expect(files.flatMap(wide)).toEqual([]);
});
