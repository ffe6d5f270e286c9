// What one body, or one event of a stream, says of an answer. Each member is read by itself: an odd
// one costs nothing but itself. What might hold text or a call and can't be read is an error.
import { isObject } from "../../algorithms/text/json-shape.ts";
import type { Counts } from "./counts.ts";
import { NotACompletion } from "./errors.ts";
import { finishReasonOf, type FinishReason } from "../../algorithms/text/finish-reason.ts";
import { reportedError } from "./reported-error.ts";
import { indexOf, listOf } from "./tool-calls.ts";

type Json = Record<string, unknown>;

export interface Part {
  model: string | null;
  choices: Choice[];
}
export interface Choice {
  text: string;
  /** What of it is a refusal; "": nothing. It is the text where there is no other. */
  refusal: string;
  /** What a model thought, which is no part of its answer. */
  reasoning: string;
  /** The message, or its piece; null: there is none. */
  message: Json | null;
  logprobs: Json | null;
  finishReason: FinishReason | "error" | null;
  /** The stop string that ended it, where the endpoint names it. */
  stop: string | null;
}

/** isWhole: a body rather than pieces. Usage goes to `counts`, wherever it stands. */
export function createPartReader(counts: Counts, isWhole: boolean, headers: Headers) {
  /** Several choices: the first one that came is ours. */
  let ours: number | null = null;
  /** What pieces have said: a message behind them only says it again. */
  const streamed = new Set<string>();

  const givenOf = ({ delta, message, text }: Json): Json | null => {
    const sources = (isWhole ? [message, delta] : [delta, message]).filter((one) => (one ?? null) !== null);
    if (sources.length > 0 && !isObject(sources[0])) throw new NotACompletion("its message can't be read");
    const read = sources.filter(isObject);
    if (typeof text === "string" && !read.some(saysAnything)) read.push({ content: text });
    if (read.length === 0) return null;
    const given: Json = {};
    for (const source of read)
      for (const [name, value] of Object.entries(source)) {
        const isPiece = !isWhole && source === delta;
        if (isPiece && !isEmpty(value)) streamed.add(name);
        if (isEmpty(given[name]) && (isPiece || !streamed.has(name))) given[name] = value;
      }
    return given;
  };

  const choicesOf = (value: Json): Choice[] => {
    const found: Choice[] = [];
    for (const choice of withCalls(listOf(value["choices"], "choices"))) {
      const index = typeof choice["index"] === "number" ? indexOf(choice["index"]) : null;
      ours ??= index;
      const isOther = index === null ? found.length > 0 : index !== ours;
      if (isOther || (isWhole && found.length > 0)) continue;
      const error = reportedError({ error: choice["error"] }, headers);
      if (error !== null) throw error;
      const given = givenOf(choice);
      counts.add(choice["usage"]);
      counts.add(given?.["usage"]);
      found.push({
        ...textOf(given ?? {}),
        message: given,
        logprobs: isObject(choice["logprobs"]) ? choice["logprobs"] : null,
        finishReason: finishReasonOf(choice["finish_reason"] ?? choice["finishReason"]),
        stop: stopOf(choice),
      });
    }
    return found;
  };

  return {
    /** Parts of a value: most have one. Throws APIError for an error in it, or NotACompletion. */
    read(value: unknown): Part[] {
      // Gemini sends an error as a list of one.
      const values = Array.isArray(value) ? (value as unknown[]) : [value];
      return values.map((one) => {
        if (!isObject(one)) throw new NotACompletion();
        const { usage, x_groq: groq, message, usageMetadata, timings, meta_info: meta, model } = one;
        // llama-server has timings beside its usage, SGLang's own API a meta_info.
        const places = [usage, usageMetadata, timings, meta, one];
        for (const place of [...places, isObject(groq) && groq["usage"], isObject(message) && message["usage"]])
          counts.add(place);
        // Behind what it counts: tokens beside an error are charged.
        const error = reportedError(one, headers);
        if (error !== null) throw error;
        return { model: typeof model === "string" && model !== "" ? model : null, choices: choicesOf(one) };
      });
    },
  };
}

/**
 * GitHub's Claude puts text and calls of tools into choices of their own, without an index. Where
 * the first one says that it calls, the calls of the others are its own.
 */
function withCalls(choices: Json[]): Json[] {
  const [first, ...others] = choices;
  const { message, finish_reason: reason } = first ?? {};
  const callsIn = ({ index, message: said }: Json) =>
    (index ?? null) === null && isObject(said) ? listOf(said["tool_calls"], "tool_calls") : [];
  if (first === undefined || !isObject(message) || finishReasonOf(reason) !== "tool_calls") return choices;
  if ((first["index"] ?? null) !== null || callsIn(first).length > 0) return choices;
  const calls = others.flatMap(callsIn);
  return calls.length === 0 ? choices : [{ ...first, message: { ...message, tool_calls: calls } }];
}

/** As vLLM and TensorRT-LLM, SGLang, and Anthropic name it; a token that ends it is a number. */
const stopOf = ({ stop_reason: ofVllm, matched_stop: ofSglang, stop_sequence: ofAnthropic }: Json): string | null =>
  [ofVllm, ofSglang, ofAnthropic].find((one) => typeof one === "string") ?? null;

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
const saysAnything = (message: Json): boolean =>
  Object.entries(message).some(([name, value]) => name !== "role" && !isEmpty(value));

type Said = Pick<Choice, "text" | "refusal" | "reasoning">;

/** Refusals are text, too. */
function textOf(message: Json): Said {
  const { content, refusal: member, reasoning_content, reasoning, reasoning_details } = message;
  const parts = typeof content === "string" ? { text: content, refusal: "", reasoning: "" } : partsOf(content);
  const thought = [reasoning_content, reasoning, reasoning_details].map(textIn).find((one) => one !== "");
  const refusal = typeof member === "string" && member !== "" ? member : parts.refusal;
  return {
    text: parts.text === "" ? refusal : parts.text,
    refusal,
    reasoning: thought ?? parts.reasoning,
  };
}

/** Content as a list of parts: texts and refusals, and thoughts apart. */
function partsOf(content: unknown): Said {
  let [text, refusal, reasoning] = ["", "", ""];
  for (const part of Array.isArray(content) ? (content as unknown[]) : [content]) {
    if (typeof part === "string") text += part;
    else if (isObject(part)) {
      const { type, text: own, thinking } = part;
      if (isThought(part)) reasoning += textIn(part);
      else if (typeof own === "string" || (typeof thinking === "string" && thinking !== "")) {
        if (typeof own === "string") text += own;
        if (typeof thinking === "string") reasoning += thinking;
      } else if (isObject(own) && typeof own["value"] === "string") text += own["value"];
      else if (typeof part["refusal"] === "string") {
        text += part["refusal"];
        refusal += part["refusal"];
      } else if ((own ?? null) !== null || (own === undefined && (typeof type !== "string" || type.endsWith("text"))))
        throw new NotACompletion("a part of its content can't be read");
    } else if (part !== null && part !== undefined) throw new NotACompletion("its content is no text");
  }
  return { text, refusal, reasoning };
}

const isThought = ({ type, thought }: Json): boolean =>
  thought === true || (typeof type === "string" && /think|reason|thought/.test(type));

/** All texts within: a thought is a text, a list of parts, or nested. */
function textIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textIn).join("");
  if (!isObject(value)) return "";
  return ["text", "thinking", "summary", "reasoning", "content"].map((name) => textIn(value[name])).join("");
}
