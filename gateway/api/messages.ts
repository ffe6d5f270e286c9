// OpenAI's chat messages as ours: roles and text. What is not text is kept for arms that declare it
// (api/passthrough.ts), with a text that stands for it here, or refused by name.
import { z } from "zod";
import { beyondText, type Beyond } from "../../algorithms/routing/passthrough.ts";
import type { Message } from "../../schemas/types.ts";
import { badRequest, type ApiError } from "../errors.ts";

const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);
export const messageSchema = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool", "function"], {
    error: 'must be "system", "developer", "user", "assistant" or "tool"',
  }),
  content: content.nullish(),
});
export type MessageBody = z.infer<typeof messageSchema>;

export interface ReadMessage {
  message: Message;
  /** What of it is not text, by its path in the body. */
  beyond: Beyond[];
}

export function messageOf(body: MessageBody, index: number): ReadMessage {
  const { role, content } = body;
  const parts = typeof content === "string" ? [content] : (content ?? []).map(partText);
  const ours = role === "developer" ? "system" : role === "function" ? "tool" : role;
  return {
    message: { role: ours, content: parts.join("\n") },
    beyond: beyondText(body).map((one) => ({ ...one, path: `messages[${index}].${one.path}` })),
  };
}

/** A part that is not text is named, so that a question of an image alone is one. */
function partText(part: Record<string, unknown>): string {
  const { type, text, refusal } = part;
  if (type === "text" && typeof text === "string") return text;
  return typeof refusal === "string" ? refusal : `[${String(type).slice(0, 40)}]`;
}

export const unservedMessage = (
  path: string,
  why = "messages are text, but for arms that declare more (tools, vision, parameters)",
): ApiError => badRequest(`${path} is not served: ${why}.`, path, "unsupported_value");
