// Chat messages to the tokens of a prompt, by the model's own chat template. What users write never becomes a control token.
import {
  type ChatHistoryItem,
  type ChatWrapper,
  type LlamaModel,
  resolveChatWrapper,
  type Token,
} from "node-llama-cpp";
import type { ChatMessage } from "./messages.ts";

/** Resolves the template once; each call then costs a few milliseconds. The prompt ends where the answer begins. */
export function createPromptTokenizer(model: LlamaModel): (messages: readonly ChatMessage[]) => Token[] {
  const wrapper = chatTemplate(model);
  return (messages) => {
    const chatHistory: ChatHistoryItem[] = messages.map(historyItem);
    chatHistory.push({ type: "model", response: [] });
    const tokens = wrapper.generateContextState({ chatHistory }).contextText.tokenize(model.tokenizer);
    const { bos, shouldPrependBosToken } = model.tokens;
    // Wrappers begin with BOS whatever the model says; where BOS is also the mark of a turn it would stand there twice.
    const doubled = !shouldPrependBosToken && bos !== null && tokens[0] === bos && tokens[1] === bos;
    return doubled ? tokens.slice(1) : tokens;
  };
}

/** The template of the file where it has one that works, else the one known for the architecture. */
function chatTemplate(model: LlamaModel): ChatWrapper {
  try {
    const wrapper = resolveChatWrapper(model, { type: "jinjaTemplate", warningLogs: false });
    const chatHistory: ChatHistoryItem[] = [
      { type: "user", text: "a" },
      { type: "model", response: [] },
    ];
    if (wrapper !== null) {
      wrapper.generateContextState({ chatHistory });
      return wrapper;
    }
  } catch {
    // No template, or one that this engine can't run: the next line finds another.
  }
  return resolveChatWrapper(model, { warningLogs: false });
}

function historyItem({ role, content }: ChatMessage): ChatHistoryItem {
  if (role === "system") return { type: "system", text: content };
  if (role === "assistant") return { type: "model", response: [content] };
  return { type: "user", text: content };
}
