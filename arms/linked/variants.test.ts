import { describe, expect, it } from "vitest";
import type { LinkPolicies, LinkPolicy } from "../../algorithms/linked-prefill/link-policy.ts";
import type { Convention, KvListed } from "../../connections/kv/port.ts";
import { chooseVariants, type KeyedChunk } from "./variants.ts";

const chunks = (...ids: string[]): KeyedChunk[] =>
  ids.map((chunk, index) => ({ chunk, tokens: 10, begin: 10 * index }));
const variant = (chunk: string, convention: Convention, ...prefix: string[]): KvListed => ({
  ...{ key: `${chunk} ${convention} ${prefix.join()}`, chunk, convention, tokens: 10, bytes: 1, createdAt: 0 },
  ...{ prefix: prefix.map((id) => ({ chunk: id, tokens: 10 })), value: 1, ids: [] },
  ...{ memory: true, disk: false, pinned: false, expiresAt: null },
});
function choose(stored: KvListed[], prompt: KeyedChunk[], convention: Convention = "context") {
  const of = (chunk: string): KvListed[] => stored.filter((one) => one.chunk === chunk);
  return chooseVariants(prompt, of, convention).map(({ state, variant: found }) => [state, found?.convention ?? null]);
}

describe("chooseVariants", () => {
  it("finds what is missing, what fits exactly and what has to be repaired", () => {
    const stored = [variant("s", "alone"), variant("a", "seen", "s"), variant("b", "seen", "s", "x")];
    expect(choose(stored, chunks("s", "a", "b", "c"))).toEqual([
      ["exact", "alone"],
      ["exact", "seen"],
      ["linked", "seen"],
      ["missing", null],
    ]);
  });

  it("is exact no further than the prefix is, and never behind what was linked itself", () => {
    const stored = [variant("s", "alone"), variant("a", "linked", "s"), variant("b", "seen", "s", "a")];
    expect(choose(stored, chunks("s", "a", "b")).map(([state]) => state)).toEqual(["exact", "linked", "linked"]);
    expect(choose([variant("a", "alone")], chunks("b", "a")).map(([state]) => state)).toEqual(["missing", "linked"]);
  });

  it("takes the variant whose prefix is most like the new one", () => {
    const stored = [
      variant("c", "system", "s"),
      variant("c", "context", "s", "a"),
      variant("c", "seen", "s", "x", "y"),
    ];
    expect(choose(stored, chunks("s", "a", "b", "c"))[3]).toEqual(["linked", "context"]);
    expect(choose(stored, chunks("s", "y", "x", "c"))[3]).toEqual(["linked", "seen"]);
    expect(choose(stored, chunks("s", "b", "c"))[2]).toEqual(["linked", "context"]);
  });

  it("goes by what a scoring pass found of the attention on the prefix, where there was one", () => {
    const scored = (convention: Convention, prefix: string[], inter: number[]): KvListed => ({
      ...variant("c", convention, ...prefix),
      impact: { cci: 0.9, inter, ranking: [...Array(10).keys()] },
    });
    const stored = [scored("context", ["s", "a"], [0.1, 0.9]), scored("seen", ["s", "b"], [0.9, 0.1])];
    const [, , , last] = chooseVariants(chunks("s", "a", "x", "c"), (id) => (id === "c" ? stored : []), "context");
    // All of it attended to what stands before it again; a third of that is new.
    expect(last).toMatchObject({ variant: { convention: "context" }, score: 0.9 * (1 - 2 / 3) });
    expect(last?.impact).toEqual({ score: last?.score, ranking: stored[0]!.impact!.ranking });
    const [, , other] = chooseVariants(chunks("s", "x", "c"), (id) => (id === "c" ? stored : []), "context");
    expect(other?.variant?.convention).toBe("seen");
    expect(other?.score).toBeCloseTo(0.9 * (1 - 0.9 / 2), 9);
  });

  it("takes a cache with a score before a better one without where the policy goes by scores", () => {
    const impact = { cci: 0.9, inter: [0.5, 0.5], ranking: [...Array(10).keys()] };
    const stored = [variant("c", "seen", "s", "b"), { ...variant("c", "context", "s", "x"), impact }];
    const chosenBy = (policies?: LinkPolicies): string | undefined =>
      chooseVariants(chunks("s", "y", "b", "c"), (id) => (id === "c" ? stored : []), "context", policies)[3]?.variant
        ?.convention;
    const craft: LinkPolicy = { kind: "craft", amount: 0.3, last: 0 };
    const naive: LinkPolicy = { kind: "naive", amount: 0, last: 0 };
    expect(chosenBy()).toBe("seen");
    expect(chosenBy(naive)).toBe("seen");
    expect(chosenBy(craft)).toBe("context");
    // A chunk of 10 tokens is a short one.
    expect(chosenBy({ short: naive, long: craft })).toBe("seen");
    expect(chosenBy({ short: craft, long: naive })).toBe("context");
  });

  it("takes what was made behind the system prompt alone for what stands first, and else only where there is nothing better", () => {
    const system = variant("c", "system", "s");
    const stored = [variant("s", "alone"), system, variant("c", "context", "s", "a")];
    expect(choose(stored, chunks("s", "c"))[1]).toEqual(["exact", "system"]);
    expect(choose(stored, chunks("s", "b", "c"))[2]).toEqual(["linked", "context"]);
    expect(choose([system], chunks("s", "b", "c"))[2]).toEqual(["linked", "system"]);
    expect(choose(stored, chunks("s", "b", "c"), "system")[2]).toEqual(["linked", "system"]);
  });

  it("uses caches of another convention only where they are allowed", () => {
    const stored = [variant("c", "seen", "s", "a")];
    expect(choose(stored, chunks("s", "b", "c"), "alone")[2]).toEqual(["missing", null]);
    expect(choose([...stored, variant("c", "alone")], chunks("s", "b", "c"), "alone")[2]).toEqual(["linked", "alone"]);
    expect(choose([variant("s", "alone"), variant("a", "seen", "s")], chunks("s", "a"), "alone")).toEqual([
      ["exact", "alone"],
      ["exact", "seen"],
    ]);
  });

  it("scores a cache by how much of its prefix stands there again, and of what stands there it saw", () => {
    const behind = variant("c", "context", "s", "a");
    const [, , found] = chooseVariants(chunks("s", "b", "c"), (chunk) => (chunk === "c" ? [behind] : []), "context");
    // beta 0.5, half of the new prefix's tokens known.
    expect(found?.score).toBeCloseTo(0.75 * (1 - 0.5 * 0.5), 9);
  });
});
