import { expect, it } from "vitest";
import { arm } from "./fixtures.testing.ts";
import { roomFor, tokensWithin } from "./room.ts";

const request = {
  messages: [{ role: "user" as const, content: "x".repeat(350) }],
  documents: [],
  question: "x".repeat(350),
  maxTokens: null,
};

it("is the arm's budget, else the common one", () => {
  expect(roomFor(arm("a"), request, 1_500)).toBe(1_500);
  expect(roomFor(arm("a", { tokenBudget: 200 }), request, 1_500)).toBe(200);
});

it("is at most four fifths of what the window leaves beside the conversation and the answer", () => {
  // 100 tokens of the question, 5 around each turn, of which the system prompt is one.
  const small = arm("a", { contextTokens: 512, maxTokens: 202 });
  expect(roomFor(small, request, 1_500)).toBe(160);
  expect(roomFor(small, { ...request, maxTokens: 102 }, 1_500)).toBe(240);
  expect(roomFor(small, { ...request, maxTokens: 5_000 }, 1_500)).toBe(116);
  // What is asked for is sent: the room for it is not the examples', up to half of the window.
  expect(roomFor(small, { ...request, maxTokens: 230 }, 1_500)).toBe(137);
  expect(roomFor(small, { ...request, documents: ["d".repeat(175)] }, 1_500)).toBe(116);
  // The guided template asks the question twice.
  expect(roomFor({ ...small, template: "guided" }, request, 1_500)).toBe(0);
  expect(roomFor({ ...small, contextTokens: 1_024, template: "guided" }, request, 1_500)).toBeLessThan(
    roomFor({ ...small, contextTokens: 1_024 }, request, 1_500) - 80,
  );
});

it("is none when the conversation fills the window", () => {
  const small = arm("a", { contextTokens: 512 });
  const messages = [{ role: "user" as const, content: "y".repeat(1_000_000) }];
  expect(roomFor(small, { ...request, messages }, 1_500)).toBe(0);
  expect(roomFor(arm("a", { contextTokens: 64, maxTokens: 64 }), request, 1_500)).toBe(0);
});

it("counts the tokens of an example only where it may fit", () => {
  expect(tokensWithin({ request: "a".repeat(35), response: "b".repeat(35) }, 100)).toBe(30);
  expect(tokensWithin({ request: "a", response: "b".repeat(10_000) }, 100)).toBe(Infinity);
  expect(tokensWithin({ request: "a", response: "b".repeat(10_000) }, 100, 2_868)).toBe(Infinity);
  expect(tokensWithin({ request: "a", response: "b" }, 100, 12)).toBe(12);
});
