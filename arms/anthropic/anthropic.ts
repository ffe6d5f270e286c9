// Any endpoint of Anthropic's Messages API. Slots, replicas, retries, deadline and prices are those
// of the openai arm: only the format differs.
import { isObject, listOf } from "../../algorithms/text/json-shape.ts";
import { nativeMember } from "../../algorithms/text/message-blocks.ts";
import type { AnthropicArmConfig } from "../../config/sections/arms.ts";
import type { Arm, ArmRequest } from "../arm.ts";
import type { Credentials } from "../openai/body.ts";
import { createEndpointArm, type EndpointArmDependencies } from "../openai/endpoint-arm.ts";
import type { Protocol } from "../openai/protocol.ts";
import { createMessageAnswer } from "./answer.ts";
import { messagesBody } from "./body.ts";

const version = "2023-06-01";

export const createAnthropicArm = (config: AnthropicArmConfig, dependencies: EndpointArmDependencies): Arm =>
  createEndpointArm(config, anthropicProtocol(config), dependencies);

export const anthropicProtocol = (config: AnthropicArmConfig): Protocol => ({
  maxTokensField: "max_tokens",
  url: messagesUrl,
  prepare(request) {
    const native = nativeOf(request);
    const [isNative, betas] = [native !== null, betasOf(native)];
    return {
      body: messagesBody(config, request),
      headers: (replica) => messagesHeaders(replica, betas),
      open: (options) => createMessageAnswer(options, isNative),
    };
  },
});

/** `betas`: the client's, beside those of the arm's headers. */
export function messagesHeaders({ apiKey, headers }: Credentials, betas = ""): Record<string, string> {
  const all = [headers["anthropic-beta"] ?? "", betas].filter((names) => names !== "").join(",");
  return {
    "anthropic-version": version,
    ...(apiKey !== "" && { "x-api-key": apiKey }),
    ...headers,
    ...(all !== "" && { "anthropic-beta": all }),
  };
}

/** The base may end in /v1, as OpenAI's clients have it, or not. Its query stays. */
export function messagesUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  const path = url.pathname.replace(/\/$/, "");
  url.pathname = /\/v\d+$/.test(path) ? `${path}/messages` : `${path}/v1/messages`;
  return url.href;
}

function nativeOf({ passthrough }: ArmRequest): Record<string, unknown> | null {
  const members: unknown = passthrough === undefined ? null : JSON.parse(passthrough);
  const native = isObject(members) ? members[nativeMember] : null;
  return isObject(native) ? native : null;
}

/** The client's beta names, for the header anthropic-beta. */
const betasOf = (native: Record<string, unknown> | null): string =>
  listOf(native?.["betas"])
    .filter((one) => typeof one === "string" && /^[\w.-]{1,100}$/.test(one))
    .slice(0, 32)
    .join(",");
