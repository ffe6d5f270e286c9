// generate: from work to the one final response, or to the alternative answer of a pair. One
// consumer group an arm; exactly-once; a slow answer delays no other.
import { createCall } from "../../operators/call/call.ts";
import { generateContract } from "../../operators/contracts.ts";
import { createLink } from "../../operators/link/link.ts";
import { pipeline } from "../../runtime/pipeline.ts";

export const generate = pipeline()
  .declare(
    {
      name: "generate",
      sources: ["work"],
      // Which arms may take over; which requests were taken back; what linked prefill measured
      // before; how many bytes its caches have; what was submitted to its provider's batches; whose
      // caches an idle arm makes.
      tables: ["breakers", "cancels", "ClickHouse", "provider-batches", "documents"],
      // Alternative answers, for comparison; answers that are kept for exact repeats; work for
      // another arm, where this one fails.
      outputs: ["responses", "alternative-answers", "response-cache", "work", "dead-letters"],
      // What the arm's caches hold; how its calls end; what linked prefill measured, and which of
      // its policies is chosen; what the arm has said so far; what it submits to provider batches.
      beside: [
        "kv-inventory",
        "breakers",
        "prefill-samples",
        "policies",
        "deltas",
        "tenant-deltas",
        "provider-batches",
      ],
    },
    generateContract,
  )
  .step("link", createLink)
  .step("call", createCall)
  .end();
