// All commands and their options; each command's code is in a file of its own.
import { Command } from "commander";
import { addAsk } from "./ask.ts";
import { addConfig } from "./config.ts";
import { addDoctor } from "./doctor.ts";
import { addDocuments } from "./documents.ts";
import { addExamples } from "./examples.ts";
import { addExplain } from "./explain.ts";
import { addExport } from "./export.ts";
import { addFeedback } from "./feedback.ts";
import { addForget } from "./forget.ts";
import { addImport } from "./import.ts";
import type { Io } from "./io.ts";
import { addJudge } from "./judge.ts";
import { addKeys } from "./keys.ts";
import { addKv } from "./kv.ts";
import { addModels } from "./models.ts";
import { addPolicy } from "./policy.ts";
import { addHelpfulness } from "./helpfulness.ts";
import { addLogReplay } from "./log-replay.ts";
import { addSelect } from "./select.ts";
import { addSql } from "./sql.ts";
import { addStack } from "./stack.ts";
import { addTopology } from "./topology.ts";
import { addUp } from "./up.ts";

export function createProgram(io: Io): Command {
  const program = new Command("precedent")
    .description("Answers LLM requests with the help of everything answered before.")
    .option("-c, --config <file>", "configuration; precedent.yaml in this folder by default")
    .option("--debug", "show stack traces")
    .showHelpAfterError("(precedent --help shows what there is)")
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.note });
  for (const add of [
    addUp,
    addStack,
    addAsk,
    addFeedback,
    addJudge,
    addPolicy,
    addHelpfulness,
    addExplain,
    addSelect,
    addSql,
    addExamples,
    addImport,
    addExport,
    addDocuments,
    addKv,
    addModels,
    addForget,
    addKeys,
    addLogReplay,
    addTopology,
    addConfig,
    addDoctor,
  ])
    add(program, io);
  return program;
}
