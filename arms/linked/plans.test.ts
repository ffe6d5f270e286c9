import { expect, it } from "vitest";
import { tokensIn } from "../../algorithms/linked-prefill/link-plan.ts";
import type { KvListed } from "../../connections/kv/port.ts";
import { createLinkPlans } from "./plans.ts";

const length = 200;
const cacheOf = (convention: "seen" | "context", behind: string): KvListed => ({
  ...{ key: convention, chunk: "c", convention, tokens: length, bytes: 1, createdAt: 0, value: 1, ids: [] },
  prefix: [behind].map((chunk) => ({ chunk, tokens: length })),
  ...{ memory: true, disk: false, pinned: false, expiresAt: null },
});

it("craft computes a passage by its score, though a cache without one would fit better", async () => {
  const impact = { cci: 0.8, inter: [1], ranking: [...Array(length).keys()] };
  const stored = [cacheOf("seen", "b"), { ...cacheOf("context", "x"), impact }];
  const store = {
    variants: (chunk: string) => (chunk === "c" ? stored : []),
    get: () => Promise.resolve(new Uint8Array()),
  };
  const chunks = ["a", "b", "c"].map((chunk, index) => ({ chunk, tokens: length, begin: index * length }));
  const prompt = { tokens: new Int32Array(3 * length), chunks };
  const { runs, blobs } = await createLinkPlans({ store, convention: "context" }).load(prompt, {
    ...{ kind: "craft", amount: 0.5, last: 0 },
  });
  // Two passages without a cache, and 0.5 * 0.8 of the third.
  expect(tokensIn(runs)).toBe(2 * length + 0.4 * length);
  expect(blobs[2]).not.toBeNull();
});
