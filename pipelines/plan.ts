// plan: from a request to the work for one arm. Exactly-once; requests finish in any order.
import { createCompose, type ComposeDependencies } from "../operators/compose/compose.ts";
import { planContract, type ContractDependencies } from "../operators/contracts.ts";
import { createEmbed, type EmbedDependencies } from "../operators/embed/embed.ts";
import { createRecall, type RecallDependencies } from "../operators/recall/recall.ts";
import { createRoute, type RouteDependencies } from "../operators/route/route.ts";
import { createSelect, type SelectDependencies } from "../operators/select/select.ts";
import { createValidate, type ValidateDependencies } from "../operators/validate/validate.ts";
import { pipeline } from "../runtime/pipeline.ts";

export type PlanDependencies = ContractDependencies &
  ValidateDependencies &
  RecallDependencies &
  EmbedDependencies &
  SelectDependencies &
  RouteDependencies &
  ComposeDependencies;

export const plan = pipeline<PlanDependencies>()
  .declare(
    {
      name: "plan",
      sources: ["requests"],
      tables: ["documents", "examples", "kv-inventory", "policies", "ClickHouse"],
      outputs: ["work", "decisions", "responses", "dead-letters"],
    },
    planContract,
  )
  .step("validate", createValidate)
  .step("recall", createRecall)
  .step("embed", createEmbed)
  .step("select", createSelect)
  .step("route", createRoute)
  .step("compose", createCompose)
  .end();
