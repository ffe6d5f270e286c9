// The documents keep their word: links lead somewhere, configurations are valid, commands, their
// options, configuration keys, metrics and files of ours exist. The SQL in all of them and the
// clients are run by tests in test/.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import type { Io } from "../cli/io.ts";
import { createProgram } from "../cli/program.ts";
import { parseConfig } from "../config/load.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = [
  "README.md",
  "CONTRIBUTING.md",
  "docs/clients/README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, "docs/design")).map((name) => `docs/design/${name}`),
];
const texts = files.map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));

/** Content of the code blocks of a language. */
const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].flatMap(([, name, body = ""]) => (name === language ? [body] : []));

/** A cell is a phrase; two sentences are a paragraph under the table. */
const longestCell = 160;
/** As GitHub makes it from a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

const modules = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && /^[a-z]+$/.test(entry.name))
  .map(({ name }) => name);
const reference = readFileSync(join(root, "docs/configuration.md"), "utf8");
const io: Io = {
  out: () => undefined,
  data: () => Promise.resolve(),
  note: () => undefined,
  environment: {},
  cwd: root,
  signal: AbortSignal.abort(),
};
const environment = {
  PRECEDENT_REDACT_SECRET: "of sixteen characters or more",
  OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
  OPENAI_API_KEY: "a-key",
  ANTHROPIC_API_KEY: "a-key",
  CLICKHOUSE_PASSWORD: "a-password",
};

const program = await createProgram(io);

describe.each(texts)("$file", ({ file, text }) => {
  it("links to what is there", () => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(([, target = ""]) => target);
    const broken = links.filter((target) => !existsSync(resolve(root, dirname(file), target)));
    expect(broken).toEqual([]);
  });

  it("keeps the cells of tables short, and its anchors are there", () => {
    const rows = text.split("\n").filter((line) => line.startsWith("|") && !/^[|\s:-]+$/.test(line));
    const cells = rows.flatMap((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()));
    expect(cells.filter((cell) => cell.length > longestCell)).toEqual([]);
    const anchors = [...text.matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)].filter(([, target = "", anchor = ""]) => {
      const path = target === "" ? file : join(dirname(file), target);
      if (!path.endsWith(".md") || !existsSync(join(root, path))) return false;
      const headings = readFileSync(join(root, path), "utf8").matchAll(/^#+ (.*)$/gm);
      return ![...headings].some(([, heading = ""]) => anchorOf(heading) === anchor);
    });
    expect(anchors.map(([link]) => link)).toEqual([]);
  });

  it("names files and folders that are there", () => {
    const named = [...text.matchAll(new RegExp(`\`((?:${modules.join("|")})/[\\w./-]*)\``, "g"))];
    // Neither placeholders nor what was added as a trial, and not kept.
    const paths = named.map(([, path = ""]) => path).filter((path) => !/[A-Z]|operators\/moderate/.test(path));
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("shows configurations that are valid", () => {
    for (const body of blocks(text, "yaml")) {
      const whole = /^arms:/m.test(body) ? body : `${body}\narms: [{ name: small, type: llama }]`;
      expect(() => parseConfig(whole, { source: file, folder: root, environment })).not.toThrow();
    }
  });

  it("names commands and options that exist", () => {
    for (const line of commandLines(text)) {
      const words = line.replace(/^-c \S+ /, "").split(" ");
      const end = words.findIndex((word) => !/^[a-z]+(?:-[a-z]+)*$/.test(word));
      const path = end < 0 ? words : words.slice(0, end);
      const command = commandOf(program, path);
      expect(command, `precedent ${path.join(" ")}`).toBeDefined();
      const known = optionsOf(command);
      for (const [option] of line.replace(/"[^"]*"/g, "").matchAll(/(?<= )--?[a-z][a-z-]*/g))
        expect(known, `precedent ${line}`).toContain(option);
    }
  });

  it("names configuration keys that exist", () => {
    const sections = [...new Set([...keys].map((key) => key.split(".")[0]))].join("|");
    const named = [...text.matchAll(new RegExp(`\`((?:${sections})\\.[a-zA-Z.]+)\``, "g"))].map(([, key = ""]) => key);
    expect(named.filter((key) => !keys.has(key) && !others.has(key))).toEqual([]);
  });
});

/** Looks like a key and is another thing: a file; members of a request. */
const others: ReadonlySet<string> = new Set(["stack.json", "privacy.cache", "privacy.share", "privacy.fresh"]);

/**
 * What follows `precedent` wherever a document shows a command, up to a comment or the end of the
 * code.
 */
const commandLines = (text: string): string[] =>
  [...text.matchAll(/(?:^ *|[`] *)(?:npx )?precedent ((?:-c \S+ )?[a-z][^`\n#]*)/gm)].map(([, line = ""]) =>
    line.trim(),
  );

/**
 * Every key that docs/configuration.md lists (a test of its own holds it to the schema), by its
 * path from the top.
 */
const keys: ReadonlySet<string> = new Set(
  [...reference.matchAll(/^##+ (.+)\n([\s\S]*?)(?=^##|$(?![\s\S]))/gm)].flatMap(([, section = "", body = ""]) =>
    [...body.matchAll(/^[|-] ((?:`[^`]+`(?:, )?)+)/gm)]
      .flatMap(([, names = ""]) => names.split(/[`, ]+/).filter((name) => name !== ""))
      .map((key) => {
        if (section.startsWith("arms,")) return `arms.${key}`;
        return / /.test(section) ? key.replace("arms[]", "arms") : `${section}.${key}`;
      })
      .flatMap(withParents),
  ),
);

/** A key and the objects that hold it: routing.breaker.share, routing.breaker. */
function withParents(key: string): string[] {
  const parts = key.split(".");
  return parts.map((_, i) => parts.slice(0, i + 1).join("."));
}

/** Options of a command and of those above it, short and long. */
function optionsOf(command: Command | null | undefined): string[] {
  if (!command) return ["-h", "--help"];
  const own = command.options.flatMap(({ short, long }) => [short, long].filter((name) => typeof name === "string"));
  return [...own, ...optionsOf(command.parent)];
}

/** The command that the words lead to; what follows it are its arguments. */
function commandOf(program: Command, words: readonly string[]): Command | undefined {
  const [first, ...rest] = words;
  const found = program.commands.find((command) => command.name() === first);
  if (found === undefined || found.commands.length === 0) return found;
  // With arguments of its own it is a command, too, and not only a group of others.
  return commandOf(found, rest) ?? (found.registeredArguments.length > 0 ? found : undefined);
}

it("comments name sections of docs/design that exist", () => {
  const folders = ["algorithms", "arms", "bench", "connections", "operators", "pipelines", "runtime", "state"];
  const named = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => {
        const text = readFileSync(join(root, folder, name), "utf8").replace(/\n *(?:\/\/|\*)/g, "");
        return [...text.matchAll(/docs\/design\/([a-z-]+)\.md(?:, ([A-Z][\w -]*\w))?/g)];
      }),
  );
  expect(named.length).toBeGreaterThan(20);
  for (const [reference, page = "", section] of named) {
    const text = readFileSync(join(root, `docs/design/${page}.md`), "utf8");
    expect(section === undefined || text.includes(`\n## ${section}`), reference).toBe(true);
  }
});

it("operations.md names the metrics that there are", () => {
  const sources = ["runtime", "state", "operators", "gateway"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /(?<!\.test|\.testing)\.ts$/.test(name))
      .map((name) => readFileSync(join(root, folder, name), "utf8")),
  );
  const made = sources
    .filter((text) => /from "(prom-client|.*\/instruments\.ts)"/.test(text))
    .flatMap((text) => [...text.matchAll(/"(precedent_[a-z_]+)"/g)].map(([, name]) => name));
  const text = readFileSync(join(root, "docs/operations.md"), "utf8");
  const named = [...text.matchAll(/\bprecedent_[a-z_]+/g)].map(([name]) => name);
  expect([...new Set(named)].sort()).toEqual([...new Set(made)].sort());
});
