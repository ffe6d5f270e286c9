import { describe, expect, it } from "vitest";
import type { ArmScore, FailedArm, Work } from "../../schemas/types.ts";
import { anExample } from "../values.testing.ts";
import { createFallback, type FallbackOptions } from "./fallback.ts";
import { aWork } from "./values.testing.ts";

const scored = (arm: string, sampled: number, bias = 0, shown: string[] = []): ArmScore => ({
  ...{ arm, model: `${arm}-1`, cost: 0, context: [], mean: 0, deviation: 0, sampled, bias, saturation: 0 },
  ...{ cachedShare: 0, probability: 0.25, examples: shown.map((id) => anExample(id)), trial: null },
  ...{ order: "best_last", orderProbability: 1 },
});
const scores = [scored("small", 0.9), scored("large", 0.8, 0.5), scored("middle", 0.6), scored("gone", 0.7)];
function work(change: Partial<Work> = {}, arms = scores): Work {
  const plain = aWork(change);
  return { ...plain, decision: { ...plain.decision, arms } };
}
const named = (name: string) => ({
  name,
  examples: name !== "middle",
  template: "chat-turns" as const,
  system: `I am ${name}.`,
});
const set = (change: Partial<FallbackOptions> = {}) =>
  createFallback({ arms: () => ["small", "middle", "large"].map(named), isHealthy: () => true, most: 1, ...change });
const after = (...failed: [string, string][]): Partial<Work> => ({
  fallback: {
    arm: failed.length === 1 ? "middle" : "large",
    failed: failed.map(([arm, code]): FailedArm => ({
      arm,
      code,
      message: "",
      attempts: 1,
      cost: 0,
      billed: 1,
      ms: 0,
    })),
  },
});

describe("the arm that takes over", () => {
  it("is the one that the draw would have chosen otherwise, of those in force that are healthy", () => {
    expect(set().next(work())?.name).toBe("middle");
    expect(set({ isHealthy: (arm) => arm !== "middle" }).next(work())?.name).toBe("large");
    expect(set({ isHealthy: () => false }).next(work())).toBeUndefined();
  });

  it("is none that could not be chosen", () => {
    expect(set().next(work({}, [scores[0]!]))).toBeUndefined();
  });

  it("is asked once, and no more than so many take over; one that was not called does not count", () => {
    expect(set().next(work(after(["small", "endpoint_refused"])))).toBeUndefined();
    expect(set().next(work(after(["small", "arm_broken"])))?.name).toBe("large");
    expect(set({ most: 2 }).next(work(after(["small", "rate_limited"])))?.name).toBe("large");
    expect(set({ most: 9 }).next(work(after(["small", "rate_limited"], ["middle", "model_failed"])))).toBeUndefined();
    expect(set({ most: 0 }).next(work())).toBeUndefined();
  });
});

describe("the arm that takes over a prompt that was too long", () => {
  const windows: Record<string, number | undefined> = { small: 2_048, middle: 1_024, large: 8_192 };
  const arms = () => Object.entries(windows).map(([name, contextTokens]) => ({ ...named(name), contextTokens }));

  it("has a longer context, or one that is unknown, and fits what is estimated of the prompt", () => {
    expect(set({ arms }).next(work())?.name).toBe("middle");
    expect(set({ arms }).next(work(), true)?.name).toBe("large");
    windows["middle"] = undefined;
    expect(set({ arms }).next(work(), true)?.name).toBe("middle");
    windows["small"] = undefined;
    windows["middle"] = 2_048;
    const long = [{ kind: "turn", id: null, role: "user", text: "word ".repeat(2_000) } as const];
    expect(set({ arms }).next(work({ pieces: long }), true)?.name).toBe("large");
    windows["large"] = 2_048;
    expect(set({ arms }).next(work({ pieces: long }), true)).toBeUndefined();
  });
});

describe("its work", () => {
  const failure = { code: "endpoint_refused", message: "busy".repeat(1_000), attempts: 3, ms: 40 };
  const document = { kind: "document", id: "d", role: "system", text: "Read this." } as const;

  it("has its own prompt: system, documents, and the examples chosen for it whose texts are there", () => {
    const arms = [scores[0]!, scored("large", 0, 0, ["e1", "e9"])];
    const plain = work({}, arms);
    const reported: string[] = [];
    const fallback = set({ onFallback: (...all) => void reported.push(all.join()) });
    const given = { ...plain, pieces: [document, ...plain.pieces] };
    const handed = fallback.handOver(given, named("large"), failure);
    expect(handed.pieces.map(({ kind, text }) => [kind, text])).toEqual([
      ["system", "I am large."],
      ["document", "Read this."],
      ["example", "list files"],
      ["example", "ls"],
      ["turn", "list all files"],
    ]);
    expect(handed.fallback).toEqual({
      arm: "large",
      failed: [{ arm: "small", ...failure, message: "busy".repeat(250), cost: 0, billed: 0 }],
    });
    expect({ ...handed, pieces: [], fallback: null }).toEqual({ ...given, pieces: [], fallback: null });
    expect(reported).toEqual(["small,large,endpoint_refused"]);
    const bare = fallback.handOver(given, named("middle"), failure);
    expect(bare.pieces.map(({ kind }) => kind)).toEqual(["system", "document", "turn"]);
    const selected = new Map([["large", [anExample("e9")]]]);
    expect(fallback.handOver(given, named("large"), failure, selected).pieces.map(({ text }) => text)).toContain(
      "answer e9",
    );
  });

  it("remembers every arm that failed before it", () => {
    const handed = set().handOver(work(after(["small", "arm_broken"])), named("large"), failure);
    expect(handed.fallback?.failed.map(({ arm }) => arm)).toEqual(["small", "middle"]);
  });
});
