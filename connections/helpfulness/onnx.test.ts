import { createHash } from "node:crypto";
import { pino } from "pino";
import { afterEach, expect, it } from "vitest";
import { HELPFULNESS_FEATURE_NAMES, HELPFULNESS_FEATURES } from "../../algorithms/selection/helpfulness-features.ts";
import { loadHelpfulnessModel, type HelpfulnessModelOptions } from "./onnx.ts";
import type { HelpfulnessModel } from "./port.ts";
import { linearModel } from "./model.testing.ts";

const log = pino({ level: "silent" });
const open: HelpfulnessModel[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((model) => model.close()));
});
async function load(
  options: Partial<HelpfulnessModelOptions> & Pick<HelpfulnessModelOptions, "bytes">,
): Promise<HelpfulnessModel> {
  const model = await loadHelpfulnessModel({ version: 3, log, ...options });
  open.push(model);
  return model;
}

/** h = 0.5 + similarity / 2 + 10 * quality. */
const weights = HELPFULNESS_FEATURE_NAMES.map((name) => (name === "similarity" ? 0.5 : name === "quality" ? 10 : 0));
const good = linearModel(weights, 0.5);
const at = (name: string, value: number): Float32Array =>
  Float32Array.from(HELPFULNESS_FEATURE_NAMES, (each) => (each === name ? value : 0));
const rows = (...given: Float32Array[]): Float32Array => Float32Array.from(given.flatMap((row) => [...row]));

it("gives one value a row, clipped to [0, 1]", async () => {
  const model = await load({ bytes: good, sha256: createHash("sha256").update(good).digest("hex") });
  expect(model.version).toBe(3);
  const h = await model.score(rows(at("similarity", 0.5), at("similarity", -0.5), at("quality", 1), at("quality", -1)));
  expect([...h]).toEqual([0.75, 0.25, 1, 0]);
  expect(await model.score(new Float32Array())).toHaveLength(0);
});

it("serves many calls at once, each with its own rows", async () => {
  const model = await load({ bytes: good });
  const asked = Array.from({ length: 50 }, (_, i) => i / 50);
  const answers = await Promise.all(asked.map((value) => model.score(at("similarity", value))));
  answers.forEach(([h], i) => expect(h).toBeCloseTo(0.5 + asked[i]! / 2, 6));
});

it.each([
  ["no ONNX file", Uint8Array.of(1, 2, 3), /can't be loaded/],
  ["a model of fewer features", linearModel(weights.slice(1), 0.5), /does not take rows of/],
  ["a model of another input", linearModel(weights, 0.5, "x"), /inputs are \[x\]/],
  ["a model that gives NaN", linearModel(weights, NaN), /gives NaN/],
  ["a model that gives infinity", linearModel(weights, Infinity), /gives Infinity/],
])("refuses %s", async (_, bytes, message) => {
  const error = await load({ bytes }).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: "HelpfulnessError", code: "bad_model" });
  expect(error).toHaveProperty("message", expect.stringMatching(message));
});

it("refuses damaged bytes and features of another version", async () => {
  await expect(load({ bytes: good, sha256: "00" })).rejects.toThrow(/sha256/);
  await expect(load({ bytes: good, featureVersion: 0 })).rejects.toThrow(/train it again/);
});

it("refuses rows of another width, and values that turn out not to be finite", async () => {
  // Only these features are large enough to overflow; the probe's are not.
  const model = await load({
    bytes: linearModel(
      weights.map((_, i) => (i === 0 ? 3e38 : 0)),
      0.5,
    ),
  });
  await expect(model.score(new Float32Array(HELPFULNESS_FEATURES + 1))).rejects.toMatchObject({ code: "bad_model" });
  const huge = new Float32Array(HELPFULNESS_FEATURES);
  huge[0] = 10;
  await expect(model.score(huge)).rejects.toMatchObject({ code: "bad_model" });
  huge[0] = 0;
  expect([...(await model.score(huge))]).toEqual([0.5]);
});

it("is unavailable once it is closed", async () => {
  const model = await load({ bytes: good });
  await model.close();
  await expect(model.score(at("similarity", 1))).rejects.toMatchObject({
    name: "HelpfulnessError",
    code: "unavailable",
  });
});
