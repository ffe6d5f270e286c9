// Calls an arm's endpoint once with everything that the arm may use (key, model, stream, tools,
// token field), in OpenAI's format or Anthropic's; where it refuses, again without what it names.
// Proposes the lines to write.
import { isObject } from "../algorithms/text/json-shape.ts";
import { partsOf, textOf } from "../connections/http/bodies.ts";
import { boundedFetch, mostBytes } from "./openai/bounded-fetch.ts";
import type { Dispatcher } from "undici";
import { messagesHeaders, messagesUrl } from "./anthropic/anthropic.ts";
import { completionsUrl, keyHeaders } from "./openai/body.ts";
import { readErrorBody } from "./openai/error-body.ts";
import { systemCode, tlsAdvice } from "./openai/errors.ts";
import { quotable } from "./openai/quote.ts";
import { connectionsTo, type Endpoint } from "./openai/replicas/members.ts";
import { messageOf } from "../connections/errors.ts";
import type { EndpointArmConfig, OpenAiArmConfig } from "../config/sections/arms.ts";

const limitMs = 20_000;
/** Its refusals are tried around so often. */
const mostCalls = 4;
const answerTokens = 16;

interface Used {
  stream: boolean;
  tools: boolean;
  maxTokensField: OpenAiArmConfig["maxTokensField"];
}
interface Answer {
  status: number;
  text: string;
}

export interface EndpointFinding {
  /** missing: the arm can't be called as it is written; lacking: with less than it could be. */
  state: "fine" | "missing" | "lacking";
  detail: string;
  /** What to do, where something is to be done. */
  remedy?: string;
}

/** One of the endpoints of an arm, and the connections to it. */
type Probed = EndpointArmConfig & Endpoint & { dispatcher: Dispatcher | undefined };

/** Never rejects. Takes as long as four calls at most, 20 s each. */
export async function probeEndpoint(config: EndpointArmConfig, endpoint: Endpoint): Promise<EndpointFinding> {
  const dispatcher = connectionsTo(endpoint);
  const arm: Probed = { ...config, ...endpoint, dispatcher };
  const { name } = arm;
  const maxTokensField = fieldOf(arm);
  const used: Used = { stream: true, tools: true, maxTokensField };
  try {
    for (let calls = 1; ; calls++) {
      const answer = await call(arm, used);
      if (answer.status === 200) return described(arm, used, answer.text);
      if (calls === mostCalls || answer.status !== 400 || !withoutNamed(arm, used, answer.text))
        return await refused(arm, answer);
    }
  } catch (error) {
    const remedy = tlsAdvice(systemCode(error)) ?? "see that it runs, and that baseUrl is right";
    return { state: "missing", detail: `${name} does not answer: ${reasonOf(error)}`, remedy };
  } finally {
    void dispatcher?.destroy();
  }
}

export const reasonOf = (error: unknown): string =>
  (error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error)).trim();

async function call(arm: Probed, { stream, tools, maxTokensField }: Used): Promise<Answer> {
  const parameters = { type: "object", properties: {} };
  const tool = { name: "nothing", description: "Does nothing." };
  const isMessages = arm.type === "anthropic";
  return ask(arm, urlOf(arm), {
    model: arm.model,
    messages: [{ role: "user", content: "Say OK." }],
    ...arm.body,
    [maxTokensField]: answerTokens + thinkingTokens(arm),
    ...(stream && { stream, ...(!isMessages && { stream_options: { include_usage: true } }) }),
    ...(tools && {
      tools: [
        isMessages ? { ...tool, input_schema: parameters } : { type: "function", function: { ...tool, parameters } },
      ],
    }),
  });
}

/** Anthropic takes no answer that is to be shorter than its thinking. */
function thinkingTokens({ body: { thinking } }: Probed): number {
  const budget = isObject(thinking) ? thinking["budget_tokens"] : 0;
  return typeof budget === "number" ? budget : 0;
}

const fieldOf = (arm: EndpointArmConfig): OpenAiArmConfig["maxTokensField"] =>
  arm.type === "anthropic" ? "max_tokens" : arm.maxTokensField;
const urlOf = ({ type, baseUrl }: Probed): string =>
  type === "anthropic" ? messagesUrl(baseUrl) : completionsUrl(baseUrl);

async function ask(arm: Probed, url: string, body?: object): Promise<Answer> {
  const response = await boundedFetch(url, {
    ...(body && { method: "POST", body: JSON.stringify(body) }),
    headers: {
      "content-type": "application/json",
      ...(arm.type === "anthropic" ? messagesHeaders(arm) : keyHeaders(arm)),
    },
    signal: AbortSignal.timeout(limitMs),
    ...(arm.dispatcher && ({ dispatcher: arm.dispatcher } as object)),
  });
  return { status: response.status, text: await textOf(partsOf(response.body), mostBytes.answer) };
}

/** Leaves out what a refusal names. False: it names nothing of it. */
function withoutNamed(arm: Probed, used: Used, text: string): boolean {
  const configured = fieldOf(arm);
  const other = configured === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  const mayChange = arm.type === "openai" && used.maxTokensField === configured;
  if (mayChange && /max_(?:completion_)?tokens/i.test(text)) used.maxTokensField = other;
  else if (used.tools && /tool|function/i.test(text)) used.tools = false;
  else if (used.stream && /stream/i.test(text)) used.stream = false;
  else return false;
  return true;
}

function described(arm: Probed, used: Used, text: string): EndpointFinding {
  const isStream = /^(?:data|event|:)/m.test(text) && used.stream;
  const [isAnswer, what] =
    arm.type === "anthropic"
      ? [/"type"\s*:\s*"message(?:_start)?"/.test(text), "message"]
      : [/"choices"\s*:/.test(text), "chat completion"];
  if (!isAnswer)
    return {
      state: "missing",
      detail: `${arm.name} answers with no ${what}: ${beginning(arm, text)}`,
      remedy: withV1(arm),
    };
  const field = arm.type === "openai" ? { maxTokensField: used.maxTokensField } : {};
  const offers = { stream: isStream, tools: used.tools, ...field };
  const lines = [
    ...(arm.stream && !isStream ? ["stream: false"] : []),
    ...(arm.tools !== used.tools ? [`tools: ${String(used.tools)}`] : []),
    ...(fieldOf(arm) !== used.maxTokensField ? [`maxTokensField: ${used.maxTokensField}`] : []),
  ];
  const counts = /"(?:prompt|input)_tokens"\s*:\s*\d/.test(text) ? "" : "; it counts no tokens, so costs are estimated";
  const detail = `${arm.model} at ${arm.name}: ${Object.entries(offers)
    .map(([key, value]) => `${key} ${String(value)}`)
    .join(", ")}${counts}`;
  // Tools only work better with the line; the others are refused without it.
  const isNeeded = lines.some((line) => line !== "tools: true");
  if (lines.length === 0) return { state: "fine", detail };
  return { state: isNeeded ? "missing" : "lacking", detail, remedy: `write in this arm: ${lines.join(", ")}` };
}

async function refused(arm: Probed, { status, text }: Answer): Promise<EndpointFinding> {
  const detail = `${arm.model} at ${arm.name} answers with ${status}: ${beginning(arm, readErrorBody(text).message || text)}`;
  const missing = (remedy: string): EndpointFinding => ({ state: "missing", detail, remedy });
  if (status === 401 || status === 403)
    return missing("correct apiKey or headers of this arm: the endpoint does not take them");
  if (status === 429) return { state: "lacking", detail, remedy: "the key is known; wait, or raise its limit" };
  if (status >= 300 && status < 400) return missing("set baseUrl to the address that answers");
  const own = Object.keys(arm.body).find((member) => text.includes(member));
  if (own !== undefined) return missing(`correct body.${own} of this arm`);
  if (status !== 404 && !/model/i.test(text)) return missing("see what the endpoint says");
  const models = await modelsOf(arm);
  const isAddress = status === 404 && !/\bmodel\b.{0,120}\bnot\b|model_?not_?found/is.test(text);
  if (models.length === 0) return missing(isAddress ? withV1(arm) : "correct model of this arm");
  if (models.includes(arm.model)) return missing("see what the endpoint says");
  return missing(`write in this arm model: one of ${models.slice(0, 8).join(", ")}`);
}

const withV1 = ({ type, baseUrl }: Probed): string => {
  const url = new URL(baseUrl);
  if (type === "anthropic" || /\/v\d+\/?$/.test(url.pathname)) return "correct baseUrl of this arm";
  url.pathname = `${url.pathname.replace(/\/$/, "")}/v1`;
  return `correct baseUrl of this arm; perhaps baseUrl: ${url.href}`;
};

/** Names of its models; none where it does not list them. */
async function modelsOf(arm: Probed): Promise<string[]> {
  try {
    const { text } = await ask(arm, urlOf(arm).replace(/\/(?:chat\/completions|messages)(?=$|\?)/, "/models"));
    const { data } = JSON.parse(text) as { data: { id: string }[] };
    return data.map(({ id }) => String(id));
  } catch {
    return [];
  }
}

/** Without the arm's keys, which some endpoints repeat. */
const beginning = (arm: Probed, text: string): string =>
  JSON.stringify(quotable(text.trim().slice(0, 1_000), arm, []).slice(0, 200));
