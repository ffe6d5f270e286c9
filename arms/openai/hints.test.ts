import { describe, expect, it } from "vitest";
import type { ArmRequest } from "../arm.ts";
import { dropForeign, engineHints, foreignTo } from "./hints.ts";

const arm = { name: "large", parameters: false, promptCacheKey: false, cacheSalt: false };
const asked = (change: Partial<ArmRequest> = {}): ArmRequest => ({
  ...{ requestId: "r", deadline: 0, tenant: "acme", caching: { domain: "acme/geo", mayStore: true } },
  params: { maxTokens: null, temperature: null, topP: null, seed: null, stop: [] },
  pieces: [
    { kind: "system", id: null, role: "system", text: "Be brief." },
    { kind: "turn", id: null, role: "user", text: "Hi" },
    { kind: "turn", id: null, role: "user", text: "And?" },
  ],
  ...change,
});
const keyed = { ...arm, promptCacheKey: true };
const salted = { ...arm, cacheSalt: true };
const keyOf = (request: ArmRequest, of = keyed) => engineHints(of, request).prompt_cache_key;
const saltOf = (request: ArmRequest, of = salted) => engineHints(of, request).cache_salt;

describe("an engine's hints", () => {
  it("are left out where neither the arm nor the client wants them", () => {
    expect(engineHints(arm, asked())).toEqual({});
    expect(engineHints(arm, asked({ promptCacheKey: "k", cacheSalt: "s" }))).toEqual({});
    expect(engineHints({ ...arm, parameters: true }, asked())).toEqual({});
  });

  it("have a key of arm, sharing domain and first prefix", () => {
    const key = keyOf(asked());
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(keyOf(asked({ requestId: "other", pieces: asked().pieces.slice(0, 2) }))).toBe(key);
    const others = [
      keyOf(asked(), { ...keyed, name: "small" }),
      keyOf(asked({ caching: { domain: "acme/law", mayStore: true } })),
      keyOf(asked({ caching: { domain: "other/geo", mayStore: true } })),
      keyOf(asked({ pieces: asked().pieces.slice(1) })),
    ];
    expect(new Set([key, ...others]).size).toBe(5);
  });

  it("keep a client's own key, where the arm takes keys or any parameter", () => {
    for (const of of [keyed, { ...arm, parameters: true }])
      expect(keyOf(asked({ promptCacheKey: "its own" }), of)).toBe("its own");
  });

  it("have a salt of the sharing domain, so that prompts of two are never shared", () => {
    const salt = saltOf(asked());
    expect(saltOf(asked({ pieces: [], requestId: "x" }))).toBe(salt);
    expect(saltOf(asked({ caching: { domain: "evil/geo", mayStore: true } }))).not.toBe(salt);
    expect(saltOf(asked({ caching: undefined as never, tenant: "evil" }))).not.toBe(salt);
  });

  it("let no client's salt cross its domain, whatever it writes", () => {
    const victims = [saltOf(asked()), saltOf(asked({ cacheSalt: "s" }))];
    const evil = { caching: { domain: "evil/geo", mayStore: true } };
    const tried = ["s", victims[0]!, victims[1]!, '","s"]', "acme/geo", ""].map((cacheSalt) =>
      saltOf(asked({ ...evil, cacheSalt })),
    );
    expect(tried.some((salt) => victims.includes(salt))).toBe(false);
    expect(saltOf(asked({ cacheSalt: "s" }), { ...arm, parameters: true })).toBe(victims[1]);
  });
});

describe("what only other formats have", () => {
  const marks = ["cache_control", "thinking_blocks"];
  const openAis = ["prompt_cache_breakpoint", "prompt_cache_options", "prompt_cache_retention"];
  const thoughts = [...marks, ...openAis, "reasoning_content"];
  it.each([
    ["https://api.openai.com/v1", marks],
    ["https://eu.api.openai.com/v1", marks],
    ["https://x.openai.azure.com/openai/v1", marks],
    ["https://x.services.ai.azure.com/openai/v1", marks],
    ["https://gateway.example/openai/deployments/d?api-version=2024-10-21", marks],
    ["https://api.groq.com/openai/v1", thoughts],
    ["https://api.cerebras.ai/v1", thoughts],
    ["https://api.mistral.ai/v1", thoughts],
    ["https://groq.com.example/v1", []],
    ["https://notopenai.com/v1", []],
    ["https://api.openai.com.example/v1", []],
    ["https://vm.westeurope.cloudapp.azure.com/v1", []],
    ["https://openrouter.ai/api/v1", []],
    ["http://127.0.0.1:4000/v1", []],
  ])("are refused by %s: %j", (baseUrl, refused) => {
    expect(foreignTo({ baseUrl })).toEqual(refused);
    expect(foreignTo({ endpoints: [{ baseUrl }] })).toEqual(refused);
  });

  it("are taken away wherever they may stand, and all else stays as it is written", () => {
    const mark = '"cache_control":{"type":"ephemeral"}';
    const schema = '{"properties":{"cache_control":{"default":12345678901234567890}}}';
    const text = '{"type":"text","text":"\\"cache_control\\" \\u00e9"';
    const call = '{"id":"c","function":{"arguments":"{}"}';
    const members = new Map([
      ["tools", `[{"type":"function","function":{"parameters":${schema}},${mark}},null]`],
      [
        "messages",
        `[{"role":"user","content":[${text},${mark}},5]},{"tool_calls":[${call},${mark}}],${mark},"thinking_blocks":[{"type":"thinking"}]}]`,
      ],
      ["response_format", `{${mark}}`],
      ["cache_control", "{}"],
    ]);
    dropForeign(members, marks);
    expect([...members.values()]).toEqual([
      `[{"type":"function","function":{"parameters":${schema}}},null]`,
      `[{"role":"user","content":[${text}},5]},{"tool_calls":[${call}}]}]`,
      `{${mark}}`,
    ]);
    const odd = new Map([
      ["tools", '"cache_control"'],
      ["messages", '[{"content":{"cache_control":1}},{"content":"x"}]'],
    ]);
    const before = [...odd];
    dropForeign(odd, marks);
    expect([...odd]).toEqual(before);
  });

  it("are left where they are taken, and thoughts go where they are not", () => {
    const said = '{"role":"assistant","reasoning_content":"hm","content":"a","tool_calls":[{"id":"c"}]}';
    const of = (foreign: readonly string[]) => {
      const members = new Map([["messages", `[${said}]`]]);
      dropForeign(members, foreign);
      return members.get("messages");
    };
    expect([of([]), of(marks)]).toEqual([`[${said}]`, `[${said}]`]);
    expect(of(thoughts)).toBe('[{"role":"assistant","content":"a","tool_calls":[{"id":"c"}]}]');
  });
});
