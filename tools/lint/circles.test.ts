// No files import each other in a circle, types included: each can be read after those it names.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const outside = /^(?:\.|node_modules|bench|native)/;
const imported = /(?:from|import|import\()\s*"(\.[^"]+\.tsx?)"/g;

const files = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !outside.test(entry.name))
  .flatMap(({ name }) =>
    readdirSync(join(root, name), { recursive: true, encoding: "utf8" }).map((file) => join(root, name, file)),
  )
  .filter((file) => /\.tsx?$/.test(file) && !file.includes("node_modules"));

/** A circle among the files, each naming the next; undefined: none. */
function circleOf(imports: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    done.add(file);
    path.push(file);
    for (const next of imports.get(file) ?? []) {
      const found = visit(next);
      if (found !== undefined) return found;
    }
    path.pop();
    return undefined;
  };
  for (const file of imports.keys()) {
    const found = visit(file);
    if (found !== undefined) return found;
  }
  return undefined;
}

test("no files import each other in a circle", () => {
  const imports = new Map(
    files.map((file) => [
      file,
      [...readFileSync(file, "utf8").matchAll(imported)].map(([, to]) => resolve(dirname(file), to!)),
    ]),
  );
  expect(imports.size).toBeGreaterThan(1_000);
  expect(circleOf(imports)?.map((file) => file.slice(root.length))).toBeUndefined();
});

test("a circle is found", () => {
  const imports = new Map([
    ["a", ["b"]],
    ["b", ["c", "d"]],
    ["c", []],
    ["d", ["b"]],
  ]);
  expect(circleOf(imports)).toEqual(["b", "d", "b"]);
});
