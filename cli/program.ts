// All commands and their options; each command's code is in a file of its own, loaded when it is
// named, so that a query does not load the stages.
import { readFileSync } from "node:fs";
import { Command } from "commander";
import type { Io } from "./io.ts";

type Add = (program: Command, io: Io) => void;

/** By name, in the order of the help. */
const commands: Readonly<Record<string, () => Promise<Add>>> = {
  up: async () => (await import("./up.ts")).addUp,
  stack: async () => (await import("./stack.ts")).addStack,
  ask: async () => (await import("./ask.ts")).addAsk,
  feedback: async () => (await import("./feedback.ts")).addFeedback,
  judge: async () => (await import("./judge.ts")).addJudge,
  policy: async () => (await import("./policy.ts")).addPolicy,
  experiments: async () => (await import("./experiments.ts")).addExperiments,
  helpfulness: async () => (await import("./helpfulness.ts")).addHelpfulness,
  explain: async () => (await import("./explain.ts")).addExplain,
  select: async () => (await import("./select.ts")).addSelect,
  sql: async () => (await import("./sql.ts")).addSql,
  examples: async () => (await import("./examples.ts")).addExamples,
  import: async () => (await import("./import.ts")).addImport,
  export: async () => (await import("./export.ts")).addExport,
  documents: async () => (await import("./documents.ts")).addDocuments,
  kv: async () => (await import("./kv.ts")).addKv,
  models: async () => (await import("./models.ts")).addModels,
  forget: async () => (await import("./forget.ts")).addForget,
  keys: async () => (await import("./keys.ts")).addKeys,
  "log-replay": async () => (await import("./log-replay.ts")).addLogReplay,
  topology: async () => (await import("./topology.ts")).addTopology,
  config: async () => (await import("./config.ts")).addConfig,
  doctor: async () => (await import("./doctor.ts")).addDoctor,
};

/** Loads only the command that argv names; without one, all commands. */
export async function createProgram(io: Io, argv: readonly string[] = []): Promise<Command> {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const program = new Command("precedent")
    .description("Answers LLM requests from Kafka with the cheapest model that is expected to answer well enough.")
    .version(version, "-V, --version", "show the version")
    .option(
      "-c, --config <file>",
      "configuration; precedent.yaml in this folder by default, else that of what runs here",
    )
    .option("--debug", "show stack traces")
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.note });
  const named = firstWord(argv);
  const wanted = named !== undefined && Object.hasOwn(commands, named) ? [commands[named]!] : Object.values(commands);
  for (const add of await Promise.all(wanted.map((load) => load()))) add(program, io);
  showOwnHelp(program, "precedent");
  return program;
}

/** Errors name the help of the command that was used wrongly. */
function showOwnHelp(command: Command, path: string): void {
  command.showHelpAfterError(`(${path} --help shows what there is)`);
  for (const child of command.commands) showOwnHelp(child, `${path} ${child.name()}`);
}

/** The first word that is neither an option nor the value of --config. */
function firstWord(argv: readonly string[]): string | undefined {
  return argv.find((word, at) => !word.startsWith("-") && !["-c", "--config"].includes(argv[at - 1] ?? ""));
}
