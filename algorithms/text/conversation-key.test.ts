import { expect, it } from "vitest";
import { conversationKey } from "./conversation-key.ts";

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });
const system = (content: string) => ({ role: "system", content });

it("is the same for every turn of a conversation", () => {
  const first = [system("Be brief."), user("list files")];
  const key = conversationKey("acme", null, first);
  expect(conversationKey("acme", null, [...first, assistant("ls"), user("and hidden ones")])).toBe(key);
  expect(key).toMatch(/^[0-9a-f]{32}$/);
});

it("differs by tenant, system text and first question, however the texts are cut", () => {
  const conversations = [
    [user("a")],
    [user("b")],
    [system("a"), user("b")],
    [system("ab"), user("")],
    [system(""), user("ab")],
    [system('a","b'), user("")],
    [system("a"), system("b"), user("")],
    [],
    [assistant("a"), user("b")],
  ];
  const keys = conversations.flatMap((turns) => ["acme", "beta"].map((tenant) => conversationKey(tenant, null, turns)));
  expect(new Set(keys).size).toBe(keys.length);
});

it("is the session's where there is one, apart for each tenant", () => {
  const key = conversationKey("acme", "s1", [user("a")]);
  expect(conversationKey("acme", "s1", [user("b")])).toBe(key);
  expect(conversationKey("beta", "s1", [user("a")])).not.toBe(key);
  expect(conversationKey("acme", null, [user("a")])).not.toBe(key);
});
