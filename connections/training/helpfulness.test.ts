import { pino } from "pino";
import { expect, it } from "vitest";
import { HELPFULNESS_FEATURES } from "../../algorithms/selection/helpfulness-features.ts";
import { trainHelpfulness, type HelpfulnessRow } from "./helpfulness.ts";

const log = pino({ level: "silent" });
const row: HelpfulnessRow = {
  group: "a",
  features: Array.from({ length: HELPFULNESS_FEATURES }, () => 0),
  effect: 0,
  weight: 1,
};

// Refused before Python is looked for; the training itself is tested in
// test/stages/train-helpfulness.test.ts.
it.each([
  ["of another width", { ...row, features: [1] }, /1 features/],
  ["that are not finite", { ...row, effect: NaN }, /not finite/],
  ["without weight", { ...row, weight: 0 }, /weight 0/],
])("refuses rows %s", async (_, wrong, message) => {
  await expect(trainHelpfulness([row, wrong], { log })).rejects.toThrow(message);
});
