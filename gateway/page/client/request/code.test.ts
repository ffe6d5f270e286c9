import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { Conversation } from "../../../conversation.ts";
import { beyondText, bodyOf, curlOf, pythonOf } from "./code.ts";

type Asked = Conversation["request"];
const plain: Asked = {
  ...{
    id: "r",
    tenant: "acme",
    domain: "acme/default",
    documents: [],
    passthrough: "",
    requires: [],
    traceId: "",
    metadata: {},
    createdAt: 0,
  },
  messages: [{ role: "user", content: "list all files" }],
  params: { maxTokens: null, temperature: null, topP: null, seed: null, stop: [] },
  ...{ allowedArms: [], privacy: { cache: true, share: true, fresh: false } },
};
const asked = (more: Partial<Asked>): Asked => ({ ...plain, ...more });
const body = (more: Partial<Asked>): unknown => JSON.parse(bodyOf(asked(more)));

describe("the body of a request", () => {
  it("has what was asked, and nothing that was not", () => {
    expect(body({})).toEqual({ model: "auto", messages: plain.messages });
    expect(
      body({
        domain: "acme/a%2Fb",
        params: { maxTokens: 5, temperature: 0, topP: null, seed: 7, stop: ["\n"] },
        metadata: { user: "ann", team: "red" },
        limits: { maxCost: 0.5, deadlineMs: null, costWeight: 0 },
        privacy: { cache: true, share: true, fresh: true },
      }),
    ).toMatchObject({
      ...{ max_tokens: 5, temperature: 0, seed: 7, stop: ["\n"], user: "ann", metadata: { team: "red" } },
      precedent: { domain: "a/b", allow: { max_cost: 0.5, cost_weight: 0 }, privacy: { fresh: true } },
    });
  });
  it("has tools, images and large numbers as they were written", () => {
    const messages = '[{"role":"user","content":[{"type":"text","text":"what is it?"}]}]';
    const passthrough = `{"messages":${messages},"tools":[{"type":"function"}],"logit_bias":{"1":12345678901234567890}}`;
    const text = bodyOf(asked({ passthrough }));
    expect(text).toContain("12345678901234567890");
    expect(JSON.parse(text)).toMatchObject({ model: "auto", messages: JSON.parse(messages) as unknown });
    expect(text.match(/"messages"/g)).toHaveLength(1);
  });
  it("came by Anthropic's API, and goes there again as it was written", () => {
    const native =
      '{"system":"be brief","messages":[{"role":"user","content":[{"type":"document","n":12345678901234567890}]}],' +
      '"thinking":{"type":"enabled"},"metadata":{"user_id":"ann"},"betas":["a-1","b\'2"]}';
    const one = asked({
      passthrough: `{"messages":[{"role":"user","content":"[document]"}],"anthropic":${native}}`,
      params: { maxTokens: 9, temperature: null, topP: null, seed: null, stop: ["."] },
      metadata: { user: "ann" },
    });
    expect(bodyOf(one)).toContain("12345678901234567890");
    const { betas: _betas, ...members } = JSON.parse(native) as Record<string, unknown>;
    expect(JSON.parse(bodyOf(one))).toEqual({ model: "auto", max_tokens: 9, stop_sequences: ["."], ...members });
    expect(curlOf(one, "http://x")).toContain("http://x/v1/messages' ");
    expect(curlOf(one, "http://x")).toContain(`-H 'anthropic-beta: a-1,b'\\''2' `);
    expect(pythonOf(one, "http://x")).toContain('Anthropic(base_url="http://x", ');
    expect(pythonOf(one, "http://x")).toContain('extra_headers={"anthropic-beta": "a-1,b\'2"},');
    expect(curlOf(asked({ passthrough: '{"anthropic":null}' }), "http://x")).toContain("/v1/messages");
  });
  it.each(["", "{}", "[]", "{", "null", '"a"'])("does without what can't be read: %j", (passthrough) => {
    expect(beyondText({ passthrough })).toEqual({});
    expect(body({ passthrough })).toEqual({ model: "auto", messages: plain.messages });
  });
});

describe("texts of hostile users", () => {
  const hostile = [
    "it's $(touch /tmp/x) `id`",
    "'; rm -rf / #",
    '"\\',
    "a\nb\tc",
    "\u2028\u{1F600}",
    "%s {0} ''' \"\"\"",
  ];
  it.each(hostile)("are texts to a shell: %j", (content) => {
    const script = curlOf(asked({ messages: [{ role: "user", content }] }), "http://127.0.0.1:1").replace(
      "curl ",
      'one() { for last; do :; done; printf %s "$last"; }; one ',
    );
    const sent = execFileSync("bash", ["-c", script], { encoding: "utf8" });
    expect(JSON.parse(sent)).toMatchObject({ messages: [{ role: "user", content }] });
  });
  it.each(hostile)("are texts to Python: %j", (content) => {
    const code = pythonOf(asked({ messages: [{ role: "user", content }] }), "http://127.0.0.1:1");
    const line = code.split("\n").find((one) => one.startsWith("body = "))!;
    // What follows body = json.loads( is one string of JSON.
    const text = JSON.parse(line.slice("body = json.loads(".length, -1)) as string;
    expect(JSON.parse(text)).toMatchObject({ messages: [{ role: "user", content }] });
    expect(code.split("\n")).toHaveLength(12);
  });
});
