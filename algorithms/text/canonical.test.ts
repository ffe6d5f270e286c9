import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalHash, canonicalText } from "./canonical.ts";

describe("canonicalText", () => {
  it("collapses white space, composes characters and keeps case", () => {
    expect(canonicalText("  List\tall \n\n files ")).toBe("List all files");
    expect(canonicalText("cafe\u0301")).toBe("caf\u00e9");
    expect(canonicalText("ls -A")).not.toBe(canonicalText("ls -a"));
  });

  it("is the same applied twice", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => canonicalText(canonicalText(text)) === canonicalText(text)),
    );
  });
});

describe("canonicalHash", () => {
  const request = {
    messages: [{ role: "user" as const, content: "list files\n  by size" }],
    documents: [],
    params: { maxTokens: null, temperature: 0, topP: null, seed: null, stop: [] },
    allow: { arms: ["a", "b"], maxCost: null, deadlineMs: null, costWeight: null },
  };
  const same = canonicalHash(request);

  it("does not see what cannot change the answer", () => {
    expect(same).toMatch(/^[0-9a-f]{64}$/);
    expect(canonicalHash({ ...request, allow: { ...request.allow, arms: ["b", "a"], deadlineMs: 5 } })).toBe(same);
  });

  it("sees everything that can", () => {
    const others = [
      { ...request, messages: [{ role: "user" as const, content: "list files\nby size" }] },
      { ...request, messages: [{ role: "user" as const, content: "list files\n  by size\n" }] },
      { ...request, messages: [{ role: "user" as const, content: "List files\n  by size" }] },
      { ...request, messages: [{ role: "system" as const, content: "be brief" }, ...request.messages] },
      { ...request, messages: [{ role: "assistant" as const, content: "list files\n  by size" }] },
      { ...request, documents: ["d1"] },
      { ...request, params: { ...request.params, temperature: 0.1 } },
      { ...request, params: { ...request.params, maxTokens: 5 } },
      { ...request, params: { ...request.params, topP: 0.5 } },
      { ...request, params: { ...request.params, seed: 1 } },
      { ...request, params: { ...request.params, stop: ["\n"] } },
      { ...request, allow: { ...request.allow, arms: null } },
      { ...request, allow: { ...request.allow, maxCost: 1 } },
    ].map(canonicalHash);
    expect(new Set([same, ...others]).size).toBe(others.length + 1);
  });
});
