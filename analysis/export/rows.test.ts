import { expect, it } from "vitest";
import { logRowOf } from "../import/log-row.ts";
import type { Exported } from "./read.ts";
import { importRow, redacted, trainingRows } from "./rows.ts";

const call = { id: "c1", type: "function", function: { name: "ls", arguments: "{}" } };
const turns = [
  { role: "user", content: "mail eve@acme.org" },
  { role: "assistant", content: "", tool_calls: [call] },
  { role: "tool", content: "out", tool_call_id: "c1" },
];
const tools = [{ type: "function", function: { name: "ls" } }];
const row: Exported = {
  ...{ id: "r1", tenant: "acme", domain: "acme/geo%2Fx", max_tokens: 9, temperature: 0.5, share: true },
  messages: turns.map(({ role, content }) => ({ role, content })) as Exported["messages"],
  passthrough: JSON.stringify({ tools, messages: turns }),
  metadata: { user: "ann", page: "1" },
  createdAt: 1_790_000_000_123,
  answer: {
    ...{
      arm: "a",
      model: "m",
      text: "yes",
      passthrough: "",
      finish_reason: "stop",
      prompt_tokens: 9,
      prefilled_tokens: 4,
    },
    ...{ completion_tokens: 2, cost: 0.1, waited: 5, first_token_ms: 15, total_ms: 25 },
  },
  ...{ propensity: 0.25, reward: 0.9, correction: null, preferences: [] },
};

it.each([true, false])("is read by import as it was (flat: %s)", (flat) => {
  const written = JSON.parse(JSON.stringify(importRow(row, flat))) as Record<string, unknown>;
  const { request, answer } = logRowOf(written, { index: 1 });
  expect(request).toMatchObject({
    ...{ id: "r1", tenant: "acme", domain: "geo/x", messages: row.messages, metadata: row.metadata },
    ...{ createdAt: row.createdAt, params: { maxTokens: 9, temperature: 0.5 } },
  });
  expect(JSON.parse(request.passthrough ?? "")).toEqual({ tools, messages: turns });
  expect(answer).toMatchObject({
    ...{ arm: "a", model: "m", text: "yes", reward: 0.9, propensity: 0.25, promptTokens: 9, prefilledTokens: 4 },
    ...{ completionTokens: 2, cost: 0.1, firstTokenMs: 10, serviceMs: 20, finishReason: "stop" },
  });
});

it("trains on good and whole answers and on corrections, never on private requests", () => {
  const messages = [...turns, { role: "assistant", content: "yes" }];
  expect(trainingRows(row, "sft", 0.8)).toEqual([{ messages, tools }]);
  const none = [
    { ...row, reward: 0.7 },
    { ...row, reward: null },
    { ...row, share: false },
    ...["length", "error", "unknown"].map((reason) => ({ ...row, answer: { ...row.answer!, finish_reason: reason } })),
    { ...row, answer: { ...row.answer!, text: "" } },
    { ...row, answer: null },
  ];
  for (const one of none) expect(trainingRows(one, "sft", 0.8)).toEqual([]);
  expect(trainingRows({ ...row, answer: null, reward: 0, correction: "no" }, "sft", 0.8)).toEqual([
    { messages: [...turns, { role: "assistant", content: "no" }], tools },
  ]);
  const calling = { ...row.answer!, text: "", passthrough: JSON.stringify({ message: { tool_calls: [call] } }) };
  expect(trainingRows({ ...row, answer: calling }, "sft", 0.8)).toEqual([
    { messages: [...turns, { role: "assistant", content: null, tool_calls: [call] }], tools },
  ]);
});

it("writes preferences in both formats, and no ties", () => {
  const other = { text: "no", passthrough: "" };
  const compared = (outcome: number): Exported => ({ ...row, passthrough: "", preferences: [{ other, outcome }] });
  const [yes, no] = ["yes", "no"].map((content) => [{ role: "assistant", content }]);
  expect(trainingRows(compared(1), "dpo", 0)).toEqual([{ prompt: row.messages, chosen: yes, rejected: no }]);
  expect(trainingRows(compared(0), "openai-dpo", 0)).toEqual([
    { input: { messages: row.messages }, preferred_output: no, non_preferred_output: yes },
  ]);
  expect(trainingRows(compared(0.5), "dpo", 0)).toEqual([]);
  const same = { ...compared(1), preferences: [{ other: { text: "yes", passthrough: "" }, outcome: 1 }] };
  expect(trainingRows(same, "dpo", 0)).toEqual([]);
});

it("replaces personal data in every text, equal values by equal placeholders", () => {
  const options = { key: "a secret of sixteen" };
  const shown = redacted(
    { ...row, correction: "eve@acme.org", answer: { ...row.answer!, text: "eve@acme.org" } },
    options,
  );
  expect(JSON.stringify(shown)).not.toMatch(/eve@|"ann"/);
  expect(new Set(JSON.stringify(shown).match(/<EMAIL_\d{9}>/g)).size).toBe(1);
  expect(shown.metadata["user"]).toMatch(/^user-[0-9a-f]{16}$/);
});
