// OpenAI's chat messages as ours: roles and text. What is not text is refused by name.
import { z } from "zod";
import type { Message } from "../../schemas/types.ts";
import { badRequest } from "../errors.ts";

const textPart = z.strictObject({ type: z.literal("text"), text: z.string() });
const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]);
export const messageSchema = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant"], {
    error: 'must be "system", "developer", "user" or "assistant"; results of tools are not served',
  }),
  content: content.nullish(),
});
export type MessageBody = z.infer<typeof messageSchema>;

/** Throws ApiError naming the field that can't be served. */
export function messageOf({ role, content, ...rest }: MessageBody, index: number): Message {
  const path = `messages[${index}]`;
  const other = Object.entries(rest).find(([name, value]) => !isNothing(value) && !said.has(name));
  if (other !== undefined) throw unserved(`${path}.${other[0]}`);
  const text =
    typeof content === "string"
      ? content
      : (content ?? []).map((part, at) => partText(part, `${path}.content[${at}]`)).join("\n");
  return { role: role === "developer" ? "system" : role, content: text };
}

/** Fields of answers that clients send back as they got them. */
const said = new Set(["annotations"]);

/** As answers have them. */
const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0);

function partText(part: { type: string }, path: string): string {
  const parsed = textPart.safeParse(part);
  if (!parsed.success) throw unserved(part.type === "text" ? path : `${path} of type ${part.type.slice(0, 40)}`, path);
  return parsed.data.text;
}

const unserved = (what: string, param = what) =>
  badRequest(`${what} is not served: messages are text.`, param, "unsupported_value");
