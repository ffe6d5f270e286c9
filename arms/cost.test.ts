import { describe, expect, it } from "vitest";
import { armSchema, type ArmConfig } from "../config/schema.ts";
import { answerCost, normalisedCosts, promptTokens, textsSent } from "./cost.ts";

const arm = (name: string, prices: ArmConfig["prices"], cost?: number): ArmConfig =>
  armSchema.parse({ name, type: "recorded", file: "x", prices, ...(cost === undefined ? {} : { cost }) });

describe("cost", () => {
  it("charges prompt and completion per million tokens", () => {
    expect(answerCost({ prompt: 1000, completion: 200 }, { prompt: 2, completion: 10 })).toBeCloseTo(0.004, 12);
  });

  it("sets the most expensive arm to 1, a free one to 0, and lets the configuration override", () => {
    const costs = normalisedCosts([
      arm("free", { prompt: 0, completion: 0 }),
      arm("large", { prompt: 4, completion: 16 }),
      arm("half", { prompt: 2, completion: 8 }),
      arm("fixed", { prompt: 0, completion: 0 }, 0.2),
    ]);
    expect(Object.fromEntries(costs)).toEqual({ free: 0, large: 1, half: 0.5, fixed: 0.2 });
  });

  it("is 0 for every arm when none has a price", () => {
    expect([
      ...normalisedCosts([arm("a", { prompt: 0, completion: 0 }), arm("b", { prompt: 0, completion: 0 })]).values(),
    ]).toEqual([0, 0]);
  });
});

describe("data in what passes through", () => {
  const data = (type: string): string => `data:${type};base64,${"QUJD".repeat(5_000)}`;
  const body = (content: unknown, more: object = {}): string =>
    JSON.stringify({ messages: [{ role: "user", content }], ...more });

  it.each<[string, unknown]>([
    ["an image", [{ type: "image_url", image_url: { url: data("image/png") } }]],
    ["an image without a holder", [{ type: "image_url", image_url: data("image/png") }]],
    ["a sound", [{ type: "input_audio", input_audio: { data: data("audio/wav") } }]],
    ["a file", [{ type: "file", file: { file_data: data("application/pdf") } }]],
  ])("is left out where it is that of %s", (_name, content) => {
    expect(textsSent([], body(content))[0]?.length).toBeLessThan(200);
    expect(promptTokens([], body(content))).toBeLessThan(2_700);
  });

  it.each<[string, string]>([
    ["a text", body(data("text/plain"))],
    ["a part that is a text", body([{ type: "text", text: data("text/plain") }])],
    ["another member of a part", body([{ type: "text", text: "", url: data("text/plain"), data: data("a/b") }])],
    ["a tool", body("hi", { tools: [{ function: { description: data("text/plain"), image_url: data("a/b") } }] })],
    ["a text beside the same image", body([{ type: "text", text: data("a/b") }, { image_url: { url: data("a/b") } }])],
  ])("is counted where it is that of %s", (_name, json) => {
    expect(promptTokens([], json)).toBeGreaterThan(5_000);
  });
});
