// Whose fault a refused call is: the request's (prompt, parameters), or the arm's (key, model,
// account, configuration), by the status and what the endpoint said. Wordings are those of some 25
// servers and providers, whose bodies are in refusal.test.ts and provider-errors.test.ts.
import type { OpenAiArmConfig } from "../../config/schema.ts";
import type { ArmRequest } from "../arm.ts";
import type { Credentials } from "./body.ts";
import { quotable } from "./quote.ts";
import type { ErrorBody } from "./error-body.ts";

/** The call that was refused. */
export interface Sent {
  config: Credentials & Pick<OpenAiArmConfig, "system" | "maxTokensField" | "body">;
  request: Pick<ArmRequest, "params" | "pieces" | "passthrough">;
  /** JSON. */
  body: string;
}

type Json = Readonly<Record<string, unknown>>;
type Read = Omit<Sent, "body"> & { body: Json };

export type Blame =
  | { fault: "request"; code: "request_rejected" | "prompt_too_large"; param: string | undefined; remedy: string }
  | { fault: "arm"; remedy: string };

const says = ({ words, message }: ErrorBody, pattern: RegExp): boolean =>
  pattern.test(message) || words.some((word) => pattern.test(word));

/** What is not the endpoint's own word: addresses, short quotes (but of JSON), and names. */
const echoes = [
  /https?:\/\/[^\s"'<>]*/gi,
  /(?<!\w|["']:\s?)(["'`])(?=\S)(?:(?!\1).){0,64}(?<=\S)\1(?!\w)/g,
  /\b(?!(?:context_length_exceeded|insufficient_quota|quota_exceeded|budget_exceeded|payment_required|invalid_api_key|permission_denied|request_too_large|content_filter|content_policy_violation|prohibited_content|(?:invalid|unknown|unsupported)_model|(?:model|deployment)_not_found|data_inspection_failed|max_(?:model|seq)_len|max_(?:\w+_)?tokens)\b)(?=[a-z\d]*_|[a-z]+\d)\w+/gi,
];
/** A tool may be called get_billing_info: its name says nothing of whose fault it is. */
const withoutEchoes = (reported: ErrorBody): ErrorBody => ({
  ...reported,
  message: echoes.reduce((text, echo) => text.replace(echo, " "), reported.message),
});

const tooLong =
  /context[ _]?(length|window|size)|max_(model|seq)_len|maximum (supported )?(prompt|input|context|sequence)|(prompt|input|inputs|messages?|request|context|conversation)\W{1,3}(text )?(is|are|was) too (long|large)|too (many|large)[^.]{0,30}tokens|tokens?[^.]{0,80}exceeds?[^.]{0,60}(limit|max|allowed|model)|exceeds? max(_num_tokens| length)|exceeds?[^.]{0,60}(token|context|input) limit|token count is \d+ but|tokens \+\s+must be <=|range of input length|expected maxLength|string[_ ](above_max_length|too long)|must have less than \d+ tokens|max_new_tokens[^.]{0,20}must be|request[_ ]?(entity )?too[_ ]large|reduce the length|longer than the (maximum )?model/i;
/** The limit a minute is below what one request needs: waiting does not help. */
const neverFits = /request too large|reduce (your|the) (message|prompt)/i;
const tokenLimit =
  /max_(completion_|output_|new_)?tokens\W{1,40}(is |are |must |value )?[^.]{0,20}(too (large|high|big)|at most|less than|exceed|between)|supports at most \d+ completion/i;
const roles =
  /roles? must|must alternate|(system|developer|tool|assistant)['"`]? (role|messages?)[^.]{0,40}(not|n't|only)|role['"`]?:? ?\W?\w+\W? (is )?not supported|jinja|chat[ _]template|template error|(first|last) message|(system|developer) instructions? (is|are) not|unexpected (message )?role|does not support ['"`]?(system|developer|tool['"`]? (role|message))/i;
const account =
  /insufficient[_ ](quota|credits?|balance|funds)|credit balance|out of credits|billing|budget[_ ](has been )?exceeded|payment[_ ]required|quota[_ ]exceeded|hard limit|spending limit|api usage limits/i;
const key =
  /(api|access)[ _-]?(key|token)|unauthori[sz]ed|authenticat|permission_denied|access denied|organization|(location|country|region)[^.]{0,30} not supported/i;
const model =
  /(model|deployment|engine)[^.]{0,120}(not found|not exist|unknown|no longer|deprecated|decommissioned|not available|requires terms)|on-demand throughput|model identifier is invalid|work with the specified model|(unknown|invalid|no such|unsupported)[ _](model|deployment)|model_?not_?found|deployment_?not_?found|not a valid model|invalid model|try pulling/i;
const moderated =
  /moderation|content[_ ](filter|policy|management)|flagged|responsibleai|safety|prohibited_content|blocked|data_?inspection|inappropriate content|sensitive[_ ]?(content|information)|(content|input|output|prompt|request|messages?)\b[^.]{0,30} violat\w+[^.]{0,30}(guideline|polic|terms)/i;
/** What the model or its server does not take, and the member that asks for it; also 404, 500. */
const unsupported: readonly (readonly [RegExp, string | undefined])[] = [
  [
    /(image|audio|video) input is not supported|not a multimodal model|no endpoints found that support (image|audio|video)/i,
    "messages",
  ],
  [/param requires --jinja|does(n't| not) support tool|no endpoints found that support tool/i, "tools"],
  [/json schema conversion failed|no endpoints found that can handle/i, undefined],
];

const limits = /rate.?limit|too.?many.?requests|throttl|resource_?exhausted|per (second|minute|hour|day)\b/i;
/** A limit names what to see to, too, and says when to come back. */
const isDead = (reported: ErrorBody, status: number | undefined): boolean =>
  says(reported, /insufficient_quota/i) || status !== 429 || (reported.waitMs === null && !says(reported, limits));

/** null: neither says that waiting is in vain. Not of redirects. */
export function blame(status: number | undefined, reported: ErrorBody, call: Sent): Blame | null {
  const sent = { ...call, body: JSON.parse(call.body) as Json };
  const isRefusal = status === 400 || status === 422;
  const param = paramOf(reported, sent.body);
  const root = param?.split(/[.[]/)[0];
  const own = withoutEchoes(reported);
  const isGeneral = root === undefined || root === "model";
  const ofAccount = isGeneral ? own : { ...own, message: "" };
  const isAccount = says(ofAccount, account) && (status ?? 400) < 500 && isDead(reported, status);
  if (status === 402 || isAccount) return { fault: "arm", remedy: "see to the account of this key." };
  if (status === 413 || (status === 429 ? says(reported, neverFits) : isOverflow(own, param, root)))
    return { fault: "request", code: "prompt_too_large", ...tooLongBy(reported, param) };
  if (status === 429 || status === 408 || status === 409 || status === 425) return null;
  const refused = (name: string | undefined, remedy: string): Blame => ({
    ...{ fault: "request", code: "request_rejected" },
    ...{ param: name, remedy },
  });
  const lacking = unsupported.find(([pattern]) => says(own, pattern));
  if (lacking !== undefined && call.request.passthrough !== undefined) {
    const named = param === undefined ? lacking[1] : asSentBy(param, sent);
    return refused(named, named === undefined ? "change the request." : `change or leave out ${named}.`);
  }
  // llama-server answers 500 where the model's template refuses a conversation.
  if (
    (isRefusal || status === undefined || status >= 500) &&
    (isRefusal ? reported.message !== "" : true) &&
    says(reported, roles)
  )
    return isOwnSystem(param, sent)
      ? { fault: "arm", remedy: "the model takes no system message: leave out the arm's system." }
      : refused("messages", "let user and assistant take turns, and leave out other roles.");
  if ((isRefusal || status === 403 || status === undefined) && says(own, moderated))
    return refused(param ?? "messages", "change the messages.");
  if (status === undefined || status >= 500 || status === 424 || status === 498 || status === 499) return null;
  if (!isRefusal) return { fault: "arm", remedy: "check baseUrl, model and apiKey." };
  if (reported.isPage) return { fault: "arm", remedy: "check baseUrl: this is a page and no API." };
  if (root === undefined && (says(own, key) || says(own, model)))
    return { fault: "arm", remedy: "check model and apiKey." };
  const setting = root === undefined ? undefined : settingOf(root, reported, sent);
  if (setting !== undefined) return { fault: "arm", remedy: `check the arm's ${setting}.` };
  const named = param === undefined ? undefined : asSentBy(param, sent);
  return refused(named, named === undefined ? "change the request." : `change or leave out ${named}.`);
}

const isOverflow = (own: ErrorBody, param: string | undefined, root = "messages"): boolean =>
  (says(own, tooLong) &&
    (/^(model|messages|prompt|inputs?|contents)$|tokens/.test(root) ||
      (own.param === null && says(own, /context[ _]?(length|window)/i)))) ||
  (param === undefined && says(own, tokenLimit));

function tooLongBy(reported: ErrorBody, param: string | undefined): { param: string; remedy: string } {
  const isAnswer = param?.includes("tokens") === true || says(reported, tokenLimit);
  return isAnswer
    ? { param: param ?? "max_tokens", remedy: "lower max_tokens, or shorten the messages." }
    : { param: "messages", remedy: "shorten the messages, or lower max_tokens." };
}

/** As the body names it, or where its text names a member of the body that was sent. */
function paramOf({ param, message }: ErrorBody, body: Json): string | undefined {
  if (param !== null) return param.replace(/^body\./, "");
  // An ordinary word must be marked as a name.
  const named = Object.keys(body).filter((name) => {
    const text = name.replace(/[^\w]/g, "\\W");
    const marked = `['"\`]${text}['".\`\\[]|^${text}\\b[.:\\[]|(parameter|argument|field|property|not support)s?:? \\(?${text}\\b`;
    return new RegExp(name.includes("_") ? `${marked}|\\b${text}\\b` : marked, "i").test(message);
  });
  const anthropic = /^(messages[\w.[\]]*):/.exec(message)?.[1]?.replace(/\.(\d+)/g, "[$1]");
  const invalid = /^Invalid '([a-z][\w.[\]]*)'/i.exec(message)?.[1];
  return anthropic ?? invalid ?? named.find((name) => name !== "model" || named.length === 1);
}

/** The arm's setting that a member of the body comes from; undefined: the request's own. */
function settingOf(root: string, reported: ErrorBody, { request: { params }, config, body }: Read): string | undefined {
  if (Object.hasOwn(config.body, root)) return `body.${root}`;
  if (root === "model") return "model";
  if (root === "stream" || root === "stream_options") return "stream";
  if (root === "stop") return params.stop.length === 0 ? "stop" : undefined;
  if (root !== "max_tokens" && root !== "max_completion_tokens") return undefined;
  if (body[config.maxTokensField] === undefined && says(reported, /required|missing/i))
    return "maxTokens (it has none)";
  if (
    body[root] === undefined ||
    says(reported, /unsupported_parameter|not supported|unrecognized|unknown|extra_forbidden|extra inputs/i)
  )
    return `maxTokensField (it is ${config.maxTokensField})`;
  return params.maxTokens === null ? "maxTokens" : undefined;
}

/** The only message of another role than user and assistant is the arm's own. */
function isOwnSystem(param: string | undefined, { request, config }: Read): boolean {
  const system = request.pieces.filter(({ role, kind }) => role === "system" && kind !== "document");
  const isFirst = param === undefined || !/\[[1-9]/.test(param);
  return isFirst && system.length === 1 && system[0]?.text === config.system && !hasOtherRoles(request);
}
const hasOtherRoles = ({ pieces, passthrough }: Sent["request"]): boolean => {
  const turns = pieces.filter(({ kind }) => kind === "turn").map(({ role }) => role);
  const alternate = turns.every((role, at) => role === (at % 2 === 0 ? "user" : "assistant"));
  return !alternate || passthrough !== undefined || pieces.some(({ kind }) => kind === "document");
};

/** Messages are counted as the client sent them, or not at all. */
function asSentBy(param: string, { request, body }: Read): string {
  const [, index = "", rest = ""] = /^messages\[(\d+)\](.*)$/.exec(param) ?? [];
  if (index === "") return param;
  const sent = lengthOf(body["messages"]);
  const own = request.passthrough === undefined ? 0 : lengthOf((JSON.parse(request.passthrough) as Json)["messages"]);
  const turns = own > 0 ? own : request.pieces.filter(({ kind }) => kind === "turn").length;
  // What the arm puts before a request's own messages is its system prompt alone.
  const at = own > 0 ? Number(index) - (sent - own) : sent === turns ? Number(index) : -1;
  return at < 0 ? "messages" : `messages[${at}]${rest}`;
}
const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

/** In quotation marks; "": it said nothing. */
export function quoteOf({ message }: ErrorBody, { config, request, body }: Sent): string {
  if (message === "") return "";
  const texts = request.pieces.map(({ text }) => text);
  if (request.passthrough !== undefined) texts.push(JSON.stringify((JSON.parse(body) as Json)["messages"]));
  return `: "${quotable(message, config, texts)}"`;
}
