// Declarations say what stages do: no more, no less. With any one entry taken away TypeScript
// refuses the stage, so an undeclared read or write does not compile, and nothing is declared that
// is not used.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import type { Kafka } from "../connections/kafka/port.ts";
import type { curate } from "./curate/pipeline.ts";
import { topology } from "./topology.ts";
import type { Topic } from "../schemas/records.ts";
import type { SessionOf } from "../state/session.ts";
import type { Session } from "./session.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Whose parts read and write for it. */
const filesOf = (stage: string): string[] =>
  [
    ...["pipeline", "start"].map(
      (name) => `pipelines/${stage.replace(/^(intake|outlet)-.*/, "$1").replace("example-", "")}/${name}.ts`,
    ),
    ...(stage === "learn"
      ? ["helpfulness", "judge", "passes", "retract", "router"].map((name) => `pipelines/learn/${name}.ts`)
      : []),
    ...(stage === "curate" ? ["pipelines/curate/passes.ts"] : []),
    ...(stage === "record" ? ["pipelines/record/dead-letters.ts"] : []),
    ...(stage === "plan" ? ["pipelines/plan/tables.ts"] : []),
    ...(stage === "gateway" ? ["asking", "page", "page-examples"].map((name) => `pipelines/gateway/${name}.ts`) : []),
    ...(stage === "example-replay" ? ["pipelines/replay/replay.ts", "pipelines/replay/run.ts"] : []),
  ].map((file) => root + file);

/** A stage's files with another text of one of them. Other folders import none of these. */
function copyOf(
  stage: string,
  file: string,
  text: string,
  mark: string,
): { checked: string[]; all: Map<string, string> } {
  const copied = (path: string): string => path.replace(/\.ts$/, `.${mark}.ts`);
  const folder = dirname(file);
  const inFolder = readdirSync(folder).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const all = inFolder.map((name): [string, string] => {
    const path = join(folder, name);
    const own = path === file ? text : readFileSync(path, "utf8");
    return [copied(path), own.replace(/(?<=["'])\.\/[\w-]+\.ts(?=["'])/g, copied)];
  });
  return { checked: filesOf(stage).map(copied), all: new Map(all) };
}

/** What TypeScript says of files, some of which are only in memory: one program, one checker. */
function compile(roots: readonly string[], inMemory: ReadonlyMap<string, string>): (file: string) => string[] {
  const settings = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config as { compilerOptions: object };
  const { options } = ts.convertCompilerOptionsFromJson(settings.compilerOptions, root);
  Object.assign(options, { incremental: false, tsBuildInfoFile: undefined });
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  host.readFile = (file) => inMemory.get(file) ?? readFile(file);
  host.fileExists = (file) => inMemory.has(file) || fileExists(file);
  const program = ts.createProgram(roots, options, host);
  return (file) =>
    program
      .getSemanticDiagnostics(program.getSourceFile(file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
}

/** Every entry of a stage's declaration with the declaration's file as it is without the entry. */
function reductions(stage: string): { entry: string; file: string; text: string }[] {
  const [file = ""] = filesOf(stage);
  const text = readFileSync(file, "utf8");
  // A file may declare two stages: an entry is taken from this one's declaration.
  const begin = text.indexOf(`name: "${stage}"`);
  const declaration = text.slice(begin, text.indexOf("}", begin));
  return [...declaration.matchAll(/^ +(sources|tables|outputs|beside): \[([^\]]*)\],$/gm)].flatMap(
    ({ 0: line, 1: key = "", 2: list = "" }) => {
      const entries = list.split(/,\s*/).flatMap((entry) => (entry.trim() === "" ? [] : [entry.trim()]));
      return entries.map((entry) => ({
        entry: `${stage}.${key} ${entry}`,
        file,
        text:
          text.slice(0, begin) +
          text.slice(begin).replace(line, line.replace(list, entries.filter((other) => other !== entry).join(", "))),
      }));
    },
  );
}

describe("a declaration", () => {
  const all = topology.map(({ name }) => ({ name, without: reductions(name) }));

  it("is found whole in its file", () => {
    for (const { name, sources, tables, outputs, beside = [] } of topology) {
      // What record takes is a list already.
      const count = tables.length + outputs.length + beside.length + (name === "record" ? 0 : sources.length);
      expect(all.find((stage) => stage.name === name)?.without, name).toHaveLength(count);
    }
  });

  it("with an entry taken away does not compile", { timeout: 240_000 }, () => {
    const copies = all.flatMap(({ name, without }) =>
      without.map(({ entry, file, text }, i) => ({ entry, ...copyOf(name, file, text, `${name}-${i}`) })),
    );
    // What is refused in a copy is refused for want of the entry: a copy of it all compiles.
    const whole = topology.map(({ name }) => {
      const [file = ""] = filesOf(name);
      return { name, ...copyOf(name, file, readFileSync(file, "utf8"), `${name}-whole`) };
    });
    const made = [...whole, ...copies];
    const saidOf = compile(
      made.flatMap(({ checked }) => checked),
      new Map(made.flatMap((copy) => [...copy.all])),
    );
    for (const { name, checked } of whole) expect(checked.flatMap(saidOf), name).toEqual([]);
    const accepted = copies.filter(({ checked }) => checked.flatMap(saidOf).length === 0).map(({ entry }) => entry);
    expect(accepted).toEqual([]);
  });
});

// Checked by the compiler (npm run typecheck), never run.
export function undeclared(session: SessionOf<typeof curate>, whole: Session): void {
  const { kafka, clickhouse, topic } = session;
  const producer = kafka.plainProducer();
  void producer.send([{ topic: topic("examples"), key: "", value: null }]);
  // @ts-expect-error curate writes no documents
  void producer.send([{ topic: topic("documents"), key: "", value: null }]);
  // @ts-expect-error nor what is just any name
  void producer.send([{ topic: "policies", key: "", value: null }]);
  kafka.readTopic(topic("examples"), () => undefined);
  // @ts-expect-error it holds no documents
  kafka.readTopic(topic("documents"), () => undefined);
  // @ts-expect-error it consumes no requests
  kafka.groupConsumer({ group: "", topics: [topic("requests")], instance: "", sessionTimeoutMs: 1 });
  // @ts-expect-error it can't be passed on as one that may do more
  const any: Kafka = kafka;
  // @ts-expect-error nor in part
  const wider: Pick<Kafka<never, Topic<"documents" | "examples">, never>, "readTopic"> = kafka;
  const narrower: SessionOf<{ tables: ["examples"] }> = session;
  // @ts-expect-error one that declares no ClickHouse has none
  const absent: unknown = narrower.clickhouse.query;
  const given: SessionOf<typeof curate> = whole;
  for (const used of [any, wider, absent, clickhouse, given]) expect(used).toBeDefined();
}
