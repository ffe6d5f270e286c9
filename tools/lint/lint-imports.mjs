// import-rules.mjs as rules of ESLint: one configuration object a module, and one for each folder
// that may import more. The test beside this file shows that they hold.
import { compositions, modules, packages, ports, tests } from "./import-rules.mjs";

const names = modules.map(({ name }) => name);

/**
 * Imports by relative path: modules that are off limits, and modules of which only ports may be
 * imported.
 */
function modulePatterns({ name, imports, only = {} }) {
  const patterns = [];
  const others = imports === "everything" ? [] : names.filter((other) => other !== name && !imports.includes(other));
  if (others.length > 0)
    patterns.push({
      regex: `^(\\.\\./)+(${others.join("|")})/`,
      message: `${name}/ may import ${imports.join(", ") || "no other module"} (tools/lint/import-rules.mjs).`,
    });
  for (const [other, files] of Object.entries(only))
    patterns.push({
      regex: `^(\\.\\./)+${other}/(?!(.*/)?(${files.join("|")})\\.ts$)`,
      message: `${name}/ may import of ${other}/ only ${files.map((file) => `${file}.ts`).join(", ")} (tools/lint/import-rules.mjs).`,
    });
  return patterns;
}

/**
 * Imports of one folder of a module from another; files beside the folders reach other modules by
 * as short a path.
 */
const siblingPattern = (name) => ({
  regex: `^\\.\\./(?!\\.\\./)(?!(${names.join("|")})/)[^/]+/`,
  message: `A folder of ${name}/ imports no other folder of it: what both need lies beside them (tools/lint/import-rules.mjs).`,
});

/** Types of a port are its own, never its adapter's. */
const portPattern = {
  regex: "^\\./(?!([^/]+-)?port\\.ts$)|^\\.\\./(?!\\.\\./)(?!.*port\\.ts$)",
  message: "A port owns its types: it imports other ports alone (tools/lint/import-rules.mjs).",
};

/** Whether a pattern such as connections/kafka/** lies in another such as connections/**. */
const liesIn = (pattern, other) => pattern.startsWith(other.slice(0, -2));

const packagePatterns = (files) =>
  packages
    .filter(({ within }) => !within.some((pattern) => liesIn(files, pattern)))
    .map(({ packages: group, use }) => ({ group, message: `Not here: use ${use}.` }));

const everywhere = [...names.map((name) => `${name}/**`), ...packages.flatMap(({ within }) => within)];

/**
 * Flat configuration objects; the more special one comes later and so replaces the rule of its
 * module.
 */
export const importRules = [
  ...[...new Set(everywhere)].sort((one, other) => one.length - other.length),
  ...ports,
  compositions.files,
].map((files) => {
  const module = modules.find(({ name }) => liesIn(files, `${name}/**`));
  const rules = files === compositions.files ? { ...module, imports: compositions.imports } : module;
  const patterns = [...packagePatterns(files), ...modulePatterns(rules)];
  if (ports.includes(files)) patterns.push(portPattern);
  if (module.folders === "apart") patterns.push(siblingPattern(module.name));
  return {
    files: [files],
    ignores: tests,
    rules: { "@typescript-eslint/no-restricted-imports": ["error", { patterns }] },
  };
});
