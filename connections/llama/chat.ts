// Chat messages to tokens by the model's template, message by message, so that an example's turns
// are the same chunk everywhere. Users' text never becomes a control token.
import { Template } from "@huggingface/jinja";
import { LRUCache } from "lru-cache";
import { messageOf } from "../errors.ts";
import { LlamaError, type LlamaModel, type Range } from "./port.ts";

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  /** Several texts are concatenated, each tokenised on its own. */
  content: string | readonly string[];
}

export interface ChatTokens {
  /** The whole prompt; it ends where the answer begins. */
  tokens: Int32Array;
  /** Contiguous ranges of the messages; null: the template mixes messages. */
  messages: Range[] | null;
  /** Contiguous ranges of each message's texts; wrappings belong to the first and last. */
  texts: Range[][] | null;
}

/** A template's own texts as tokens, with the messages' contents between them. */
interface Skeleton {
  parts: ({ kind: "tokens"; tokens: Int32Array } | { kind: "content"; message: number })[];
  /** Number of parts before the end of each message; null: the messages' boundaries are unknown. */
  ends: number[] | null;
}

/** Prompts of different numbers of examples have different roles; a service uses a few dozen. */
const keptSkeletons = 256;
/** Longer conversations have no chunks of their own. */
const mostPiecewise = 256;

// Letters and digits only: no template trims, escapes or looks for them.
const placeholder = (message: number): string => `PRECEDENTmessage${message}CONTENT`;
const placeholders = /PRECEDENTmessage(\d+)CONTENT/g;

/** Throws LlamaError model_unsupported where the model has no template that can be run. */
export function createChat(
  model: Pick<LlamaModel, "facts" | "tokenize" | "detokenize">,
): (messages: readonly ChatMessage[]) => ChatTokens {
  const { facts, tokenize, detokenize } = model;
  if (facts.chatTemplate === "")
    throw new LlamaError(
      "model_unsupported",
      `${facts.name} has no chat template: name a Jinja file in "chatTemplate"`,
    );
  const template = new Template(facts.chatTemplate);
  const textOf = (token: number): string => (token < 0 ? "" : detokenize(Int32Array.of(token), { control: true }));
  const special = { bos_token: textOf(facts.bos), eos_token: textOf(facts.eos) };
  const skeletons = new LRUCache<string, Skeleton>({ max: keptSkeletons });

  function render(roles: readonly ChatMessage["role"][], answer: boolean): string {
    const messages = roles.map((role, i) => ({ role, content: placeholder(i) }));
    try {
      return template.render({ messages, add_generation_prompt: answer, ...special });
    } catch (error) {
      const why = messageOf(error);
      throw new LlamaError("model_unsupported", `the chat template of ${facts.name} refuses ${roles.join()}: ${why}`, {
        cause: error,
      });
    }
  }

  function skeletonOf(roles: readonly ChatMessage["role"][]): Skeleton {
    const whole = render(roles, true);
    const found = [...whole.matchAll(placeholders)].map((match) => Number(match[1]));
    checkComplete(roles, found);
    const inOrder = found.length === roles.length && found.every((message, i) => message === i);
    const ends = inOrder && roles.length <= mostPiecewise ? beginnings(roles) : null;
    const piecewise =
      ends?.every((text, i) => whole.startsWith(text) && text.includes(placeholder(i))) === true ? ends : null;
    const cuts = piecewise?.map((text) => text.length) ?? [];

    const parts: Skeleton["parts"] = [];
    const counts: number[] = [];
    let start = 0;
    for (const end of [...cuts, whole.length]) {
      for (const [i, text] of whole.slice(start, end).split(placeholders).entries())
        if (i % 2 === 1) parts.push({ kind: "content", message: Number(text) });
        else if (text !== "") parts.push({ kind: "tokens", tokens: tokenize(text, { control: true }) });
      counts.push(parts.length);
      start = end;
    }
    const [first] = parts;
    const hasBos = first?.kind === "tokens" && first.tokens[0] === facts.bos;
    if (facts.addBos && !hasBos && first?.kind === "tokens") first.tokens = Int32Array.of(facts.bos, ...first.tokens);
    return { parts, ends: piecewise === null ? null : counts.slice(0, -1) };
  }

  /** The prompt after each message (quadratic in turns); null: only whole conversations. */
  function beginnings(roles: readonly ChatMessage["role"][]): string[] | null {
    try {
      return roles.map((_, i) => render(roles.slice(0, i + 1), false));
    } catch (error) {
      if (!(error instanceof LlamaError)) throw error;
      return null;
    }
  }

  /** All must be said, and turns in their order; a system text may stand anywhere. */
  function checkComplete(roles: readonly ChatMessage["role"][], found: readonly number[]): void {
    const rendered = new Set(found);
    const missing = roles.flatMap((role, i) => (rendered.has(i) ? [] : [`message ${i + 1} (${role})`]));
    const turns = [...rendered].filter((message) => roles[message] !== "system");
    const isMixed = turns.some((message, i) => message < (turns[i - 1] ?? 0));
    if (missing.length === 0 && !isMixed) return;
    const what = missing.length > 0 ? `leaves out ${missing.slice(0, 3).join(", ")}` : "changes the order of turns";
    throw new LlamaError("model_unsupported", `the chat template of ${facts.name} ${what}`);
  }

  return (messages) => {
    const roles = messages.map(({ role }) => role);
    const key = roles.join();
    let skeleton = skeletons.get(key);
    if (skeleton === undefined) skeletons.set(key, (skeleton = skeletonOf(roles)));

    const tokens: number[] = [];
    // Where the texts of each message end, and the skeleton's parts.
    const textEnds: number[][] = messages.map(() => []);
    const offsets = [0];
    for (const part of skeleton.parts) {
      if (part.kind === "tokens") for (const token of part.tokens) tokens.push(token);
      else
        for (const text of textsOf(messages[part.message])) {
          for (const token of tokenize(text)) tokens.push(token);
          textEnds[part.message]?.push(tokens.length);
        }
      offsets.push(tokens.length);
    }
    const ranges =
      skeleton.ends?.map((end) => offsets[end] ?? 0).map((end, i, ends): Range => ({ begin: ends[i - 1] ?? 0, end })) ??
      null;
    const texts =
      ranges?.map(({ begin, end }, message) => {
        const ends = [...(textEnds[message] ?? []).slice(0, -1), end];
        return ends.map((to, i): Range => ({ begin: ends[i - 1] ?? begin, end: to }));
      }) ?? null;
    return { tokens: Int32Array.from(tokens), messages: ranges, texts };
  };
}

const textsOf = (message: ChatMessage | undefined): readonly string[] =>
  typeof message?.content === "string" ? [message.content] : (message?.content ?? []);
