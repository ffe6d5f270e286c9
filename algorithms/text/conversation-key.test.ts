import { expect, it } from "vitest";
import { conversationKey } from "./conversation-key.ts";

const system = { role: "system", content: "Be brief." };
const first = { role: "user", content: "Hi" };
const later = [
  { role: "assistant", content: "Hello" },
  { role: "user", content: "And?" },
];

it("is the same for all turns of a conversation, and another for each other one", () => {
  const key = conversationKey("acme", null, [system, first]);
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(conversationKey("acme", null, [system, first, ...later])).toBe(key);
  const others = [
    conversationKey("other", null, [system, first]),
    conversationKey("acme", null, [first]),
    conversationKey("acme", null, [{ ...system, content: "Be brief.Hi" }]),
    conversationKey("acme", "s1", [system, first]),
    conversationKey("acme", "s2", [system, first]),
    conversationKey("acme", null, []),
  ];
  expect(new Set([key, ...others]).size).toBe(7);
});

it("is the session's, whatever is said in it", () => {
  expect(conversationKey("acme", "s1", later)).toBe(conversationKey("acme", "s1", [system, first]));
});
