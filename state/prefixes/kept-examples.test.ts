import { describe, expect, it } from "vitest";
import { createKeptExamples, type KeptPrompt } from "./kept-examples.ts";

const prompt = (id: string, arm = "small"): KeptPrompt => ({
  arm,
  examples: [{ id, similarity: 0.9, helpfulness: 0.8, tokens: 10 }],
});
function setUp(bounds = { most: 100, mostOfDomain: 10, timeToLive: 1_000 }) {
  const time = { now: 0 };
  const kept = createKeptExamples(bounds, () => time.now);
  const ids = (domain: string, conversation: string, arm = "small") =>
    kept.of(domain, conversation, arm)?.examples.map(({ id }) => id);
  return { kept, ids, time };
}

describe("examples of a conversation", () => {
  it("are the last ones, of its domain and arm alone", () => {
    const { kept, ids } = setUp();
    kept.keep("a/d", "c", prompt("1"));
    kept.keep("a/d", "c", prompt("2"));
    expect(ids("a/d", "c")).toEqual(["2"]);
    expect([ids("b/d", "c"), ids("a/d", "other"), ids("a/d", "c", "large")]).toEqual([undefined, undefined, undefined]);
    kept.keep("a/d", "c", prompt("3", "large"));
    expect([ids("a/d", "c"), ids("a/d", "c", "large")]).toEqual([undefined, ["3"]]);
  });

  it("are kept for so long since the last turn", () => {
    const { kept, ids, time } = setUp();
    kept.keep("a/d", "c", prompt("1"));
    time.now = 1_000;
    expect(ids("a/d", "c")).toEqual(["1"]);
    time.now = 1_001;
    expect(ids("a/d", "c")).toBeUndefined();
  });

  it("of one domain push out its own only; over all bounds those that were used least recently leave", () => {
    const { kept, ids } = setUp({ most: 12, mostOfDomain: 10, timeToLive: 1_000 });
    kept.keep("quiet/d", "c", prompt("q"));
    for (let i = 0; i < 1_000; i++) kept.keep("loud/d", `${i}`, prompt("l"));
    expect(ids("quiet/d", "c")).toEqual(["q"]);
    expect([ids("loud/d", "989"), ids("loud/d", "990"), ids("loud/d", "999")]).toEqual([undefined, ["l"], ["l"]]);
    kept.keep("new/d", "c", prompt("n"));
    kept.keep("new/d", "e", prompt("n"));
    expect([ids("quiet/d", "c"), ids("new/d", "c"), ids("loud/d", "990")]).toEqual([undefined, ["n"], ["l"]]);
  });
});
