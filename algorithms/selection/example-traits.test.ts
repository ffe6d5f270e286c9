import { expect, test } from "vitest";
import { bytesOfTraits, isSafe, isUnit, traitsOf } from "./example-traits.ts";
import { hashTokens } from "../text/text-overlap.ts";
import { exampleTokens } from "../text/tokens.ts";

const unit = Float32Array.of(0.6, 0.8);

test("are what each of its parts says of the example alone", () => {
  const [request, response] = ["list all files", "ls -a"];
  const traits = traitsOf({ request, response }, unit);
  expect(traits).toEqual({
    isUnit: true,
    isSafe: true,
    tokens: exampleTokens(request, response),
    request: hashTokens(request),
    response: hashTokens(response),
  });
  expect(bytesOfTraits(traits)).toBe(256 + 8 * 5);
});

test("a vector is of unit length all but rounding, and never when it has NaN", () => {
  for (const vector of [unit, Float32Array.of(0.61, 0.8)]) expect(isUnit(vector)).toBe(true);
  for (const vector of [Float32Array.of(1, 1), Float32Array.of(0, 0), Float32Array.of(NaN, 1), new Float32Array()])
    expect(traitsOf({ request: "a", response: "b" }, vector)?.isUnit).toBe(false);
});

test.each([
  ["a\tb\r\nc", "ls", true],
  ["a\0", "ls", false],
  ["a", "ls\u001b[31m", false],
  ["a", "ls\u0085", false],
  ["a", " \n", false],
  ["", "ls", true],
])("%j with the answer %j is safe: %s", (request, response, safe) => {
  expect(isSafe({ request, response })).toBe(safe);
  expect(traitsOf({ request, response }, unit)?.isSafe).toBe(safe);
});

test("long texts have none, because they may not be needed", () => {
  expect(traitsOf({ request: "a", response: "b".repeat(8_191) }, unit)).not.toBeNull();
  expect(traitsOf({ request: "a", response: "b".repeat(8_192) }, unit)).toBeNull();
  expect(bytesOfTraits(null)).toBe(0);
});
