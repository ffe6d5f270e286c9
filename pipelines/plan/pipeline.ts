// plan: from a request to the work for one arm, or to the response of an inline arm. Exactly-once;
// requests finish in any order.
import { createAssign } from "../../operators/assign/assign.ts";
import { createCallInline } from "../../operators/call/inline.ts";
import { createCompose } from "../../operators/compose/compose.ts";
import { planContract } from "../../operators/contracts.ts";
import { createEmbed } from "../../operators/embed/embed.ts";
import { createPair } from "../../operators/pair/pair.ts";
import { createDeduplicate } from "../../operators/deduplicate/deduplicate.ts";
import { createLookup } from "../../operators/lookup/lookup.ts";
import { createRoute } from "../../operators/route/route.ts";
import { createSelect } from "../../operators/select/select.ts";
import { createValidate } from "../../operators/validate/validate.ts";
import { pipeline } from "../../runtime/pipeline.ts";

export const plan = pipeline()
  .declare(
    {
      name: "plan",
      sources: ["requests"],
      tables: [
        "response-cache",
        "documents",
        "examples",
        "kv-inventory",
        "inline-calls",
        "breakers",
        "cancels",
        "policies",
        "ClickHouse",
        "seen-ids",
        // For repeats of what is recorded with placeholders (privacy.redact).
        "responses",
      ],
      outputs: ["work", "decisions", "responses", "seen-ids", "response-cache", "dead-letters"],
      // How many calls of inline arms this process has under way, how they end, and what they have
      // said so far.
      beside: ["inline-calls", "breakers", "deltas", "tenant-deltas"],
    },
    planContract,
  )
  .step("validate", createValidate)
  .step("deduplicate", createDeduplicate)
  .step("assign", createAssign)
  .step("lookup", createLookup)
  .step("embed", createEmbed)
  .step("select", createSelect)
  .step("route", createRoute)
  .step("compose", createCompose)
  .step("pair", createPair)
  .step("call", createCallInline)
  .end();
