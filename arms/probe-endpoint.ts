// Calls the endpoint of an openai arm once with everything that an arm may use (key, model, stream,
// tools, token field); where it refuses, again without what it names. Proposes the lines to write.
import { boundedFetch, mostBytes, partsOf, textOf } from "./openai/bounded-fetch.ts";
import type { Dispatcher } from "undici";
import { completionsUrl, keyHeaders } from "./openai/body.ts";
import { connectionsTo, type Endpoint } from "./openai/replicas/members.ts";
import { messageOf } from "../connections/errors.ts";
import type { OpenAiArmConfig } from "../config/schema.ts";

const limitMs = 20_000;
/** Its refusals are tried around so often. */
const mostCalls = 4;

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
type Probed = OpenAiArmConfig & Endpoint & { dispatcher: Dispatcher | undefined };

/** Never rejects. Takes as long as four calls at most, 20 s each. */
export async function probeEndpoint(config: OpenAiArmConfig, endpoint: Endpoint): Promise<EndpointFinding> {
  const dispatcher = connectionsTo(endpoint);
  const arm: Probed = { ...config, ...endpoint, dispatcher };
  const { name, maxTokensField } = arm;
  const used: Used = { stream: true, tools: true, maxTokensField };
  try {
    for (let calls = 1; ; calls++) {
      const answer = await call(arm, used);
      if (answer.status === 200) return described(arm, used, answer.text);
      if (calls === mostCalls || answer.status !== 400 || !withoutNamed(used, answer.text, maxTokensField))
        return await refused(arm, answer);
    }
  } catch (error) {
    const remedy = `see that it runs, and that baseUrl is right`;
    return { state: "missing", detail: `${name} does not answer: ${reasonOf(error)}`, remedy };
  } finally {
    void dispatcher?.destroy();
  }
}

export const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error);

async function call(arm: Probed, { stream, tools, maxTokensField }: Used): Promise<Answer> {
  const parameters = { type: "object", properties: {} };
  return ask(arm, completionsUrl(arm.baseUrl), {
    model: arm.model,
    messages: [{ role: "user", content: "Say OK." }],
    [maxTokensField]: 16,
    ...(stream && { stream, stream_options: { include_usage: true } }),
    ...(tools && {
      tools: [{ type: "function", function: { name: "nothing", description: "Does nothing.", parameters } }],
    }),
  });
}

async function ask(arm: Probed, url: string, body?: object): Promise<Answer> {
  const response = await boundedFetch(url, {
    ...(body && { method: "POST", body: JSON.stringify(body) }),
    headers: { "content-type": "application/json", ...keyHeaders(arm) },
    signal: AbortSignal.timeout(limitMs),
    ...(arm.dispatcher && ({ dispatcher: arm.dispatcher } as object)),
  });
  return { status: response.status, text: await textOf(partsOf(response.body), mostBytes.answer) };
}

/** Leaves out what a refusal names. False: it names nothing of it. */
function withoutNamed(used: Used, text: string, configured: Used["maxTokensField"]): boolean {
  const other = configured === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  if (used.maxTokensField === configured && /max_(?:completion_)?tokens/i.test(text)) used.maxTokensField = other;
  else if (used.tools && /tool|function/i.test(text)) used.tools = false;
  else if (used.stream && /stream/i.test(text)) used.stream = false;
  else return false;
  return true;
}

function described(arm: Probed, used: Used, text: string): EndpointFinding {
  const isStream = /^(?:data|event|:)/m.test(text) && used.stream;
  if (!/"choices"\s*:/.test(text))
    return {
      state: "missing",
      detail: `${arm.name} answers with no chat completion: ${beginning(text)}`,
      remedy: withV1(arm),
    };
  const offers = { stream: isStream, tools: used.tools, maxTokensField: used.maxTokensField };
  const lines = [
    ...(arm.stream && !isStream ? ["stream: false"] : []),
    ...(arm.tools !== used.tools ? [`tools: ${String(used.tools)}`] : []),
    ...(arm.maxTokensField !== used.maxTokensField ? [`maxTokensField: ${used.maxTokensField}`] : []),
  ];
  const counts = /"prompt_tokens"\s*:\s*\d/.test(text) ? "" : "; it counts no tokens, so costs are estimated";
  const detail = `${arm.model} at ${arm.name}: ${Object.entries(offers)
    .map(([key, value]) => `${key} ${String(value)}`)
    .join(", ")}${counts}`;
  // Tools only work better with the line; the others are refused without it.
  const isNeeded = lines.some((line) => line !== "tools: true");
  if (lines.length === 0) return { state: "fine", detail };
  return { state: isNeeded ? "missing" : "lacking", detail, remedy: `write in this arm: ${lines.join(", ")}` };
}

async function refused(arm: Probed, { status, text }: Answer): Promise<EndpointFinding> {
  const detail = `${arm.model} at ${arm.name} answers with ${status}: ${beginning(text)}`;
  const missing = (remedy: string): EndpointFinding => ({ state: "missing", detail, remedy });
  if (status === 401 || status === 403) return missing("correct apiKey of this arm: the endpoint does not take it");
  if (status === 429) return { state: "lacking", detail, remedy: "the key is known; wait, or raise its limit" };
  if (status >= 300 && status < 400) return missing("set baseUrl to the address that answers");
  if (status !== 404 && !/model/i.test(text)) return missing("see what the endpoint says");
  const models = await modelsOf(arm);
  if (models.length === 0) return missing(status === 404 ? withV1(arm) : "correct model of this arm");
  if (models.includes(arm.model)) return missing("see what the endpoint says");
  return missing(`write in this arm model: one of ${models.slice(0, 8).join(", ")}`);
}

const withV1 = ({ baseUrl }: Probed): string => {
  const url = new URL(baseUrl);
  if (/\/v\d+\/?$/.test(url.pathname)) return "correct baseUrl of this arm";
  url.pathname = `${url.pathname.replace(/\/$/, "")}/v1`;
  return `correct baseUrl of this arm; perhaps baseUrl: ${url.href}`;
};

/** Names of its models; none where it does not list them. */
async function modelsOf(arm: Probed): Promise<string[]> {
  try {
    const { text } = await ask(arm, completionsUrl(arm.baseUrl).replace("/chat/completions", "/models"));
    const { data } = JSON.parse(text) as { data: { id: string }[] };
    return data.map(({ id }) => String(id));
  } catch {
    return [];
  }
}

const beginning = (text: string): string => JSON.stringify(text.trim().slice(0, 200));
