// An arm that calls chat completions of any OpenAI-compatible endpoint.
import type { OpenAiArmConfig } from "../../config/schema.ts";
import type { Arm } from "../arm.ts";
import { createEndpointArm, type EndpointArmDependencies } from "./endpoint-arm.ts";
import { openAiProtocol } from "./protocol.ts";

export const createOpenAiArm = (config: OpenAiArmConfig, dependencies: EndpointArmDependencies): Arm =>
  createEndpointArm(config, openAiProtocol(config), dependencies);
