// The large model in this process, without any stage: as a judge, and as a writer of examples.
import { modelFile } from "../../config/models.ts";
import { type ChatMessage, createChat } from "../../connections/llama/chat.ts";
import { fingerprintOf, openLlamaModel } from "../../connections/llama/model.ts";
import type { Prompt, RunResult } from "../../connections/llama/port.ts";
import { arms } from "./arms.ts";

const contextTokens = 4_096;

export interface LargeModel {
  /** One call at a time. */
  answer(
    messages: readonly ChatMessage[],
    options: Omit<Prompt, "tokens">,
    signal: AbortSignal,
  ): Promise<RunResult & { prompt: number }>;
  close(): Promise<void>;
}

export async function openLarge(): Promise<LargeModel> {
  const path = modelFile(arms.find(({ name }) => name === "large-without")!.model);
  const model = await openLlamaModel({ path, fingerprint: await fingerprintOf(path) });
  const chat = createChat(model);
  const llama = await model.openContext({ contextTokens, sequences: 1 });
  return {
    async answer(messages, options, signal) {
      const { tokens } = chat(messages);
      return { ...(await llama.run({ tokens, ...options }, { signal })), prompt: tokens.length };
    },
    async close() {
      await llama.close();
      model.close();
    },
  };
}
