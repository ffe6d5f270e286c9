// generate: from work to the one final response. One consumer group an arm; exactly-once; a slow answer holds nobody back.
import { createCall, type CallDependencies } from "../operators/call/call.ts";
import { generateContract, type ContractDependencies } from "../operators/contracts.ts";
import { createLink } from "../operators/link/link.ts";
import { pipeline } from "../runtime/pipeline.ts";

export type GenerateDependencies = ContractDependencies & CallDependencies;

export const generate = pipeline<GenerateDependencies>("generate")
  .from("work", generateContract)
  .step("link", createLink)
  .step("call", createCall)
  .to("responses", "dead-letters");
