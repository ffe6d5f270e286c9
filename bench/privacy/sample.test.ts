import { expect, test } from "vitest";
import { findPersonalData } from "../../algorithms/privacy/pii.ts";
import { splitmix64 } from "../../algorithms/numeric/random.ts";
import { makeSample } from "./sample.ts";
import { score } from "./score.ts";

test("what has a form of its own is found wherever the sample has it", () => {
  const { recall } = score(makeSample(splitmix64(1), 3), findPersonalData);
  expect(recall).toMatchObject({ SECRET: 1, EMAIL: 1, IBAN: 1, CARD: 1 });
});
