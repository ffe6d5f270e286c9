// The import rules hold: imports that must be refused, and some that must not.
import { fileURLToPath } from "node:url";
import { ESLint } from "eslint";
import tseslint from "typescript-eslint";
import { describe, expect, it } from "vitest";
import { importRules } from "./lint-imports.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const eslint = new ESLint({
  cwd: root,
  overrideConfigFile: true,
  // Only the import rules, without types, so that files need not exist.
  overrideConfig: [
    {
      files: ["**/*.ts"],
      languageOptions: { parser: tseslint.parser },
      plugins: { "@typescript-eslint": tseslint.plugin },
    },
    ...importRules,
  ],
});

async function problems(file: string, statement: string): Promise<string[]> {
  const [result] = await eslint.lintText(statement, { filePath: `${root}${file}` });
  return (result?.messages ?? []).map(({ message }) => message);
}

describe("import rules", () => {
  it.each([
    ["operators/route/route.ts", 'import { Kafka } from "kafkajs";'],
    ["connections/clickhouse/client.ts", 'import { Kafka } from "kafkajs";'],
    ["runtime/stage.ts", 'import { SchemaRegistry } from "@kafkajs/confluent-schema-registry";'],
    ["cli/sql.ts", 'import { createClient } from "@clickhouse/client";'],
    ["connections/clickhouse/client.ts", 'import { Session } from "chdb";'],
    ["stack/supervise.ts", 'import { Session } from "chdb";'],
    ["state/examples/pool.ts", 'import { Index } from "usearch";'],
    ["pipelines/examples.ts", 'import { open } from "lmdb";'],
    ["operators/embed/embed.ts", 'import { InferenceSession } from "onnxruntime-node";'],
    ["operators/call/call.ts", 'import OpenAI from "openai";'],
    ["arms/llama/llama.ts", 'import { getLlama } from "@node-llama-cpp/linux-x64";'],
    ["pipelines/generate/start.ts", 'import { openLlamaModel } from "../../connections/llama/model.ts";'],
    ["algorithms/routing/bandit.ts", 'import { ok } from "../../runtime/step.ts";'],
    ["algorithms/routing/bandit.ts", 'import type { Config } from "../../config/schema.ts";'],
    ["operators/embed/embed.ts", 'import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";'],
    ["operators/embed/embed.ts", 'import { plan } from "../../pipelines/plan/pipeline.ts";'],
    ["runtime/stage.ts", 'import { createRoute } from "../../operators/route/route.ts";'],
    ["runtime/stage.ts", 'import { createKafka } from "../../connections/kafka/kafka.ts";'],
    ["connections/kafka/kafka.ts", 'import { runProgram } from "../../cli/run.ts";'],
    ["arms/openai/openai.ts", 'import { createCall } from "../../operators/call/call.ts";'],
    ["stack/attach.ts", 'import { runProgram } from "../../cli/run.ts";'],
    ["pipelines/session.ts", 'import { addUp } from "../../cli/up.ts";'],
    ["runtime/stage.ts", 'import { openSession } from "../../pipelines/session.ts";'],
    ["config/load.ts", 'import { createLog } from "../../runtime/log.ts";'],
    ["runtime/metrics/health.ts", 'import { Command } from "commander";'],
    ["state/session.ts", 'import { createRoute } from "../operators/route/route.ts";'],
    ["gateway/server.ts", 'import { startPlan } from "../pipelines/plan/start.ts";'],
    ["pipelines/up.ts", 'import { readLog } from "../analysis/off-policy/read.ts";'],
    ["runtime/stage.ts", 'import { Gauge } from "prom-client";'],
    ["runtime/stage.ts", 'import { createArms } from "../state/arms.ts";'],
    ["state/load/metrics.ts", 'import type { Selection } from "../../operators/select/selection-types.ts";'],
    ["operators/embed/embed.ts", 'import { createRoute } from "../route/route.ts";'],
    ["operators/solve/solve.ts", 'import { createRoute } from "../embed/embed.ts";'],
    ["operators/solve/solve.ts", 'import type { Aggregate } from "../aggregate/aggregate.ts";'],
    ["state/policies/router.ts", 'import { createRoute } from "../../operators/route/route.ts";'],
    ["operators/call/call.ts", 'import { createArm } from "../../arms/create.ts";'],
    ["connections/kafka/port.ts", 'import type { Durability } from "./durability.ts";'],
    ["pipelines/replay/pipeline.ts", 'import { createArm } from "../../arms/create.ts";'],
    ["state/session.ts", 'import { openSession } from "../../pipelines/session.ts";'],
    ["state/documents.ts", 'import { openDocuments } from "../../connections/documents/lmdb.ts";'],
    ["state/examples/port.ts", 'import type { Layout } from "./layout.ts";'],
    ["state/examples/pool.ts", 'import { createOnnxEmbedder } from "../../connections/embedder/onnx.ts";'],
    ["operators/deduplicate/deduplicate.ts", 'import { createArm } from "../../arms/create.ts";'],
    ["connections/clickhouse/port.ts", 'import type { Kafka } from "../kafka/kafka.ts";'],
    ["pipelines/plan/pipeline.ts", 'import { createKafka } from "../../connections/kafka/kafka.ts";'],
    ["connections/training/helpfulness.ts", 'import { runProgram } from "../../cli/run.ts";'],
    ["cli/up.ts", 'import { main } from "../tools/demo/main.ts";'],
    ["arms/linked/plans.ts", 'import { planCompared } from "../../bench/linked/research/plan.ts";'],
    ["pipelines/generate/start.ts", 'import { parseCompared } from "../../bench/linked/research/policy.ts";'],
    ["cli/ask.ts", 'import { describe } from "../tools/demo/describe.ts";'],
  ])("%s may not: %s", async (file, statement) => {
    expect(await problems(file, statement)).toHaveLength(1);
  });

  it.each([
    ["connections/kafka/client.ts", 'import { Kafka } from "kafkajs";'],
    ["connections/registry/client.ts", 'import { SchemaRegistry } from "@kafkajs/confluent-schema-registry";'],
    ["stack/facade/engine.ts", 'import { Session } from "chdb";'],
    ["arms/openai/openai.ts", 'import OpenAI from "openai";'],
    ["arms/llama/worker.ts", 'import { openLlamaModel } from "../../connections/llama/model.ts";'],
    ["operators/link/link.ts", 'import type { Range } from "../../connections/llama/port.ts";'],
    ["operators/embed/embed.ts", 'import type { Embedder } from "../../connections/embedder/port.ts";'],
    ["operators/embed/embed.ts", 'import { ok } from "../../runtime/step.ts";'],
    ["runtime/stage.ts", 'import { TransactionAborted } from "../../connections/kafka/errors.ts";'],
    ["algorithms/identity/identity.ts", 'import type { Request } from "../../schemas/types.ts";'],
    ["operators/solve/solve.ts", 'import type { ArmStatistics } from "../learnt.ts";'],
    ["operators/solve/solve.ts", 'import type { ArmPosterior } from "../../state/policies/router.ts";'],
    ["operators/embed/embed.ts", 'import type { Embedded } from "../flow.ts";'],
    ["operators/flow.ts", 'import type { Work } from "../../schemas/types.ts";'],
    ["operators/call/call.ts", 'import type { Arm } from "../../arms/arm.ts";'],
    ["state/examples/port.ts", 'import type { IndexFigures } from "../vectors/port.ts";'],
    ["connections/llama/port.ts", 'import type { ModelFacts } from "./facts-port.ts";'],
    ["bench/linked/research/look.ts", 'import { cacheKey } from "../../../arms/linked/prompt.ts";'],
    ["tools/demo/start.ts", 'import { runProgram } from "../../cli/run.ts";'],
    ["pipelines/session.ts", 'import { createKafka } from "../../connections/kafka/kafka.ts";'],
    [
      "operators/embed/embed.test.ts",
      'import { createHashEmbedder } from "../../connections/embedder/hash.testing.ts";',
    ],
  ])("%s may: %s", async (file, statement) => {
    expect(await problems(file, statement)).toEqual([]);
  });
});
