import { describe, expect, it } from "vitest";
import { createSharedDomains, nothingShared } from "../../algorithms/selection/shared-domains.ts";
import type { HeldExample } from "../../state/examples/port.ts";
import { candidate } from "./fixtures.testing.ts";
import { turnsKey } from "../../algorithms/text/conversation-key.ts";
import { continuedTurn, keptChoice } from "./kept.ts";

const kept = (...ids: string[]) => ({
  arm: "small",
  examples: ids.map((id) => ({ id, similarity: 0.9, helpfulness: 0.8, tokens: 10 })),
});
const asker = { requestId: "r2", tenant: "acme", domain: "acme/shell", sharedDomain: null };
const open = { sharing: nothingShared, room: 100, now: 7 };
const poolOf = (...examples: HeldExample[]) => ({
  get: (id: string) => examples.find((example) => example.id === id),
});
const example = (id: string, over: Partial<HeldExample> = {}): HeldExample => candidate(id, 0.9, over).example;
const ids = (choice: ReturnType<typeof keptChoice>) => choice?.examples.map(({ id }) => id) ?? null;

describe("a later turn", () => {
  it("is shown what the turn before it was, in that order and with what is known of it", () => {
    const choice = keptChoice(kept("b", "a"), poolOf(example("a"), example("b")), asker, open);
    expect(choice).toMatchObject({ order: { order: "kept", orderProbability: 1 }, trial: null });
    expect(choice?.examples[0]).toEqual({
      ...{ id: "b", request: "request b", response: "response b", similarity: 0.9, helpfulness: 0.8, tokens: 10 },
      ...{ explored: false, cachedBonus: 0, features: [] },
    });
    expect(ids(choice)).toEqual(["b", "a"]);
  });

  it.each<[string, HeldExample | null]>([
    ["gone: withdrawn, erased or evicted", null],
    ["expired", example("b", { expiresAt: 7 })],
    ["another tenant's", example("b", { tenant: "beta" })],
    ["of another domain", example("b", { domain: "acme/other" })],
    ["made from this request", example("b", { source: { arm: "x", model: "m", requestId: "r2" } })],
    ["of a tenant that shares no more", example("b", { tenant: "beta", domain: "+/shell" })],
  ])("is not shown what is %s", (_what, b) => {
    const sharing = createSharedDomains({ shell: { tenants: ["acme"] } });
    const pool = poolOf(example("a"), ...(b === null ? [] : [b]), example("c"));
    const of = { ...asker, sharedDomain: "+/shell" };
    expect(ids(keptChoice(kept("a", "b", "c"), pool, of, { ...open, sharing }))).toEqual(["a", "c"]);
    expect(ids(keptChoice(kept("b"), pool, of, { ...open, sharing }))).toBeNull();
  });

  it("keeps the beginning where the conversation leaves less room", () => {
    const pool = poolOf(example("a"), example("b"), example("c"));
    expect(ids(keptChoice(kept("a", "b", "c"), pool, asker, { ...open, room: 25 }))).toEqual(["a", "b"]);
    expect(ids(keptChoice(kept("a", "b", "c"), pool, asker, { ...open, room: 5 }))).toBeNull();
  });
});

it("a conversation is continued once it has an answer", () => {
  const first = { tenant: "acme", messages: [{ role: "user" as const, content: "a" }] };
  expect(continuedTurn(first)).toBeNull();
  const later = { ...first, messages: [...first.messages, { role: "assistant" as const, content: "b" }] };
  expect(continuedTurn(later)).toBe(turnsKey("acme", first.messages));
  const next = { ...later, messages: [...later.messages, { role: "user" as const, content: "c" }] };
  expect(continuedTurn(next)).toBe(turnsKey("acme", first.messages));
  // The same few-shot opening before another question is another turn before.
  const other = { ...next, messages: [...next.messages, { role: "assistant" as const, content: "d" }] };
  expect(continuedTurn(other)).toBe(turnsKey("acme", next.messages));
});
