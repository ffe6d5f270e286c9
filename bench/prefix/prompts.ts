// Prompts of a stream as a real engine's tokens: the chat template and tokenizer of SmolLM2, each
// message tokenised on its own.
import { createChat } from "../../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel } from "../../connections/llama/model.ts";
import type { Stream } from "./streams.ts";

export interface Prompts {
  system: Int32Array;
  /** By index in the pool: both turns. */
  example(index: number): Int32Array;
  /** The question, and the beginning of the answer. */
  question(index: number): Int32Array;
}

export const systemOf = {
  nl2bash: "Translate the request into one shell command. Answer with the command alone.",
  qqp: "Write the question in other words. Answer with the question alone.",
} satisfies Record<Stream["name"], string>;

type Chat = ReturnType<typeof createChat>;

/** path: a GGUF file. */
export async function openChat(path: string): Promise<{ chat: Chat; close: () => void }> {
  const model = await openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
  return { chat: createChat(model), close: () => model.close() };
}

export function promptsOf({ name, pool, questions }: Stream, chat: Chat): Prompts {
  const partsOf = (user: string, assistant: string, question: string): [Int32Array, Int32Array, Int32Array] => {
    const { tokens, messages } = chat([
      { role: "system", content: systemOf[name] },
      { role: "user", content: user },
      { role: "assistant", content: assistant },
      { role: "user", content: question },
    ]);
    if (messages === null) throw new Error("the chat template mixes messages");
    const [system, , answer] = messages;
    return [tokens.slice(0, system!.end), tokens.slice(system!.end, answer!.end), tokens.slice(answer!.end)];
  };
  const examples = new Map<number, Int32Array>();
  const asked = new Map<number, Int32Array>();
  const kept = (map: Map<number, Int32Array>, key: number, make: () => Int32Array): Int32Array => {
    const found = map.get(key) ?? make();
    map.set(key, found);
    return found;
  };
  return {
    system: partsOf("", "", "")[0],
    example: (index) => kept(examples, index, () => partsOf(pool[index]!.request, pool[index]!.response, "")[1]),
    question: (index) => kept(asked, index, () => partsOf("", "", questions[index]!)[2]),
  };
}

export const joined = (parts: readonly Int32Array[]): Int32Array => {
  const tokens = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    tokens.set(part, at);
    at += part.length;
  }
  return tokens;
};
