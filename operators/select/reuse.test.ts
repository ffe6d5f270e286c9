import { describe, expect, it } from "vitest";
import { armSchema } from "../../config/schema.ts";
import { isInline } from "../../config/sections/arms.ts";
import type { Request } from "../../schemas/types.ts";
import { aRequest } from "../values.testing.ts";
import { candidate } from "./fixtures.testing.ts";
import { reusable } from "./reuse.ts";

const parsed = armSchema.parse({ name: "reuse", type: "reuse", tenants: ["acme"] });
if (parsed.type !== "reuse") throw new Error("unreachable");
const settings = parsed;
const question = "How do I list all files in a folder?";
const near = (id: string, request: string, similarity: number, response = "ls -a") =>
  candidate(id, similarity, { request, response });
const same = near("same", "How do I list all the files in a folder?", 0.97);
const find = (change: Partial<Request> = {}, over: Partial<typeof settings> = {}, candidates = [same]) =>
  reusable({ request: aRequest(change), question }, candidates, { ...settings, ...over }).kept?.id;
const plain = aRequest();

describe("a near miss", () => {
  const missed = (change: Partial<Request>, ...candidates: (typeof same)[]) => {
    const { kept, nearMiss } = reusable({ request: aRequest(change), question }, candidates, settings);
    expect(kept).toBeNull();
    return nearMiss?.id;
  };
  it("is the best of those that were looked at, whatever is not near and good enough of it", () => {
    const other = near("other", "How do I list no files in a folder?", 0.98);
    const far = near("far", question, 0.5);
    expect(missed({}, other)).toBe("other");
    expect(missed({}, far, other)).toBe("other");
    expect(missed({}, far, near("farther", question, 0.4))).toBe("far");
    expect(missed({})).toBeUndefined();
  });
  it("is none where nothing may be reused, or something is", () => {
    expect(missed({ tenant: "other" }, same)).toBeUndefined();
    expect(missed({ params: { ...plain.params, maxTokens: 1 } }, same)).toBeUndefined();
    expect(reusable({ request: aRequest(), question }, [same], settings).nearMiss).toBeNull();
  });
});

describe("what may be reused", () => {
  it("is the answer to the same question, the likeliest of the near ones", () => {
    expect(find()).toBe("same");
    const others = [near("other", "How do I list no files in a folder?", 0.98), same, near("far", question, 0.5)];
    expect(find({}, {}, others)).toBe("same");
    expect(find({}, {}, [others[2]!])).toBeUndefined();
    expect(find({}, { minimumQuality: 1 })).toBeUndefined();
  });

  it("is nothing for other tenants, and nothing by default", () => {
    expect(find({ tenant: "other" })).toBeUndefined();
    expect(find({ tenant: "other" }, { tenants: ["*"] })).toBe("same");
    const byDefault = armSchema.parse({ name: "reuse", type: "reuse" });
    expect(byDefault).toMatchObject({ tenants: [] });
    expect(isInline(byDefault)).toBe(true);
    expect(find({}, { tenants: [] })).toBeUndefined();
  });

  it.each<[string, Partial<Request>]>([
    ["fresh", { privacy: { ...plain.privacy, fresh: true } }],
    ["private", { privacy: { ...plain.privacy, cache: false } }],
    ["not shared", { privacy: { ...plain.privacy, share: false } }],
    ["passed on as it is", { passthrough: "{}" }],
    ["tools", { requires: ["tools"] }],
    ["documents", { documents: ["d"] }],
    ["sampled", { params: { ...plain.params, temperature: 1 } }],
    ["a conversation", { messages: [...plain.messages, { role: "assistant", content: "a" }, ...plain.messages] }],
    ["a system message", { messages: [{ role: "system", content: "in French" }, ...plain.messages] }],
    ["a shorter answer", { params: { ...plain.params, maxTokens: 1 } }],
    ["a stop string that is in it", { params: { ...plain.params, stop: ["ls"] } }],
  ])("is nothing where the request is or wants: %s", (_name, change) => {
    expect(find(change)).toBeUndefined();
  });

  it("is no text with control characters", () => {
    expect(find({}, {}, [near("bad", same.example.request, 0.97, "ls\u0007")])).toBeUndefined();
  });
});
