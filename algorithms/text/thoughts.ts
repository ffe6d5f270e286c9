// What a model thinks, in the members of a chat completion's message that servers have for it.

const members = ["reasoning_content", "reasoning"];

/** The first member with a text; null: there is none. */
export function thoughtIn(message: Readonly<Record<string, unknown>>): { member: string; text: string } | null {
  for (const member of members) {
    const text = message[member];
    if (typeof text === "string" && text !== "") return { member, text };
  }
  return null;
}
