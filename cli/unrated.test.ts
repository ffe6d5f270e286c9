import { describe as suite, expect, it } from "vitest";
import type { JudgingAgenda, Unrated } from "../operators/judge/unrated.ts";
import { describe } from "./unrated.ts";

const settings = {
  ...{ share: 0.05, windowHours: 24, afterMinutes: 10, perHour: 60, perTenantHour: 20, spendLimit: 2 },
  ...{ reference: "small", ownAnswers: false },
};
const item: Unrated = {
  ...{ requestId: "r1", tenant: "acme", arm: "large", text: "x", otherArm: "small", otherText: null },
  ...{ messages: [{ role: "user", content: "list\nall \u001b[31mfiles" }], maxTokens: null },
};
const agenda = (more: Partial<JudgingAgenda>): JudgingAgenda => ({
  ...{ items: [], spent: { cost: 0, lastHour: 0 }, meanCost: null, usedUp: null },
  ...more,
});

suite("what would be judged", () => {
  it("is a row each, with what it is expected to cost", () => {
    const text = describe(
      agenda({ items: [item, item], meanCost: 0.1234567, spent: { cost: 1.23456, lastHour: 3 } }),
      settings,
    );
    expect(text).toMatch(/acme +│ large +│ small +│ to be generated +│ r1 +│ list all \[31mfiles/);
    expect(text).toContain("\n2 answers would be judged next, for about 0.247\n3 were judged in the last hour; ");
    expect(text).toContain("judging cost 1.23 in the last 24 hours\n");
    expect(describe(agenda({ items: [item] }), settings)).toContain(
      "1 answer would be judged next; what that costs is known from the first on\n",
    );
  });

  it("is nothing for a reason", () => {
    expect(describe(agenda({ usedUp: "spendLimit" }), settings)).toMatch(/^nothing .* spendLimit \(2\) is used up\n/);
    expect(describe(agenda({ usedUp: "perHour" }), settings)).toMatch(/^nothing .* perHour \(60\) is used up\n/);
    expect(describe(agenda({}), settings)).toMatch(/^nothing .*24 h, older than 10 min, .*small among its arms/);
  });
});
