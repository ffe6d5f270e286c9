import { describe, expect, it } from "vitest";
import { embeddingList, embeddingsRequest } from "./embeddings.ts";

const model = { model: "mini", dimension: 2 };

describe("embeddings", () => {
  it("are asked for one text or several, as numbers or base64", () => {
    expect(embeddingsRequest({ model: "mini", input: "a" }, model)).toEqual({ texts: ["a"], base64: false });
    const body = { model: "auto", input: ["a", "b"], encoding_format: "base64", dimensions: 2, user: "u" };
    expect(embeddingsRequest(body, model)).toEqual({ texts: ["a", "b"], base64: true });
  });

  it.each<[string, object, number?]>([
    ["input", { input: "" }],
    ["input", { input: [] }],
    ["input", { input: [[1, 2, 3]] }],
    ["input", { input: Array.from({ length: 257 }, () => "x") }],
    ["model", { model: "text-embedding-3-small" }, 404],
    ["dimensions", { dimensions: 3 }],
    ["encoding_format", { encoding_format: "hex" }],
  ])("are refused for a wrong %s", (param, change, status = 400) => {
    expect(() => embeddingsRequest({ model: "mini", input: "x", ...change }, model)).toThrow(
      expect.objectContaining({ status, param }),
    );
  });

  it("come in order; base64 holds the same numbers", () => {
    // As a view into a larger buffer, as workers send them.
    const vectors = [new Float32Array([9, 0.5, -1]).subarray(1), new Float32Array([1, 0])];
    const list = (base64: boolean) => embeddingList(vectors, { texts: ["a", "b"], base64 }, "mini");
    expect(list(false).data.map(({ embedding }) => embedding)).toEqual([
      [0.5, -1],
      [1, 0],
    ]);
    const [first] = list(true).data;
    const bytes = Buffer.from(String(first?.embedding), "base64");
    expect([bytes.readFloatLE(0), bytes.readFloatLE(4), bytes.length]).toEqual([0.5, -1, 8]);
    expect(list(true).usage.total_tokens).toBeGreaterThan(0);
  });
});
