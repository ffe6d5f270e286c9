import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tokensIn } from "../../../algorithms/linked-prefill/link-plan.ts";
import { splitmix64 } from "../../../algorithms/numeric/random.ts";
import type { LlamaContext, LlamaModel } from "../../../connections/llama/port.ts";
import { llamaIsBuilt, openTiny, type Opened } from "../../../connections/llama/models.testing.ts";
import { lookAt } from "./look.ts";
import { type KnownChunk, planCompared } from "./plan.ts";
import { comparedPolicy } from "./policy.ts";
import { withFocus } from "./question.ts";
import { openScorer, type LlamaScorer } from "../../../connections/llama/scorer.ts";

type Scorer = Pick<LlamaScorer, "attention" | "deviations">;

describe.skipIf(!llamaIsBuilt)("on a model (npm run setup builds the addon)", () => {
  let tiny: Opened;
  let model: LlamaModel;
  let context: LlamaContext;
  let scorer: LlamaScorer;
  beforeAll(async () => {
    const both = { contextTokens: 512, kvType: "f16" } as const;
    tiny = await openTiny(both);
    ({ model, context } = tiny);
    scorer = await openScorer(tiny.model, both);
  });
  afterAll(async () => {
    await scorer?.close();
    await tiny?.close();
  });

  const texts = ["You answer. ", "One piece of text. ", "Another, longer piece of text. ", "And a third one. "];
  const question = "What does the third one say?";

  /**
   * Caches of the chunks alone, all scored, in `order` in the prompt; chunks outside of `texts`
   * have none.
   */
  async function planned(order: readonly number[], used: Scorer = scorer) {
    const parts = order.map((part) => model.tokenize(texts[part] ?? "An unseen text. "));
    const blobs: Uint8Array[] = [];
    for (const tokens of parts) {
      const made = await context.run({ tokens, exports: [{ begin: 0, end: tokens.length }] });
      blobs.push(made.blobs[0]!);
    }
    let end = 0;
    const chunks = parts.map(({ length }, index): KnownChunk & { begin: number } => {
      const begin = end;
      end += length;
      // The first stands where it was cached; the others' scores are those of chunks that are
      // cached alone.
      const ranking = Array.from({ length }, (_, token) => token);
      const state = order[index]! >= texts.length ? "missing" : index === 0 ? "exact" : "linked";
      return { length, state, begin, impact: { score: 0.5, ranking } };
    });
    const tokens = Int32Array.from([...parts, model.tokenize(question)].flatMap((part) => [...part]));
    const links = chunks.flatMap(({ begin, state }, i) =>
      state === "missing" ? [] : [{ blob: blobs[i]!, position: begin }],
    );
    return async (name: string) => {
      const policy = comparedPolicy(name);
      const runs = planCompared(policy, await lookAt(policy, used, { tokens, links }, chunks), splitmix64(1));
      const inRun = (position: number): boolean => runs.some(([a, b]) => position >= a && position < b);
      const share = chunks.map(
        ({ begin, length }) => Array.from({ length }, (_, i) => begin + i).filter(inRun).length / length,
      );
      const recompute = runs.map(([begin, to]) => ({ begin, end: to }));
      const answer = () => context.run({ tokens, links, recompute, maxTokens: 2 });
      return { share, tokens, links, chunks, runs, answer };
    };
  }

  it("recomputes in the focused chunks as craft does, and nothing elsewhere", async () => {
    const plan = await planned([0, 1, 2, 3]);
    const all = (await plan("craft-1")).share;
    const { share, tokens, links, chunks } = await plan("craft-1+focus");
    const focused = (await withFocus(scorer, { tokens, links }, chunks, "focus")).map((chunk) => chunk.focused);
    expect(all[0]).toBe(0);
    expect(Math.min(...all.slice(1))).toBeGreaterThan(0);
    expect(share).toEqual(all.map((value, chunk) => (focused[chunk] === true ? value : 0)));
    // Three chunks and gaps: at most one of them.
    expect(focused.filter(Boolean)).toHaveLength(2);
    expect((await plan("last-1+craft-1+gap")).share[3]).toBe(1);
  });

  it.each(["craft-1+focus", "attended-30", "blend-25", "last-1+craft-0.5+gap"])(
    "answers under %s as it was planned",
    async (name) => {
      const { answer, runs, tokens } = await (await planned([0, 2, 1, 3]))(name);
      const { linked, generated } = await answer();
      expect(tokensIn(runs)).toBeGreaterThan(0);
      expect(linked).toBe(tokens.length - tokensIn(runs) - model.tokenize(question).length);
      expect(generated.length).toBeGreaterThan(0);
    },
  );

  it("recomputes the most attended tokens of each chunk, the first of which is exact", async () => {
    const plan = await planned([0, 2, 1]);
    const { share } = await plan("attended-50");
    expect(share[0]).toBe(0);
    for (const of of share.slice(1)) expect(of).toBeCloseTo(0.5, 0);
  });

  it("does not ask over what is missing: all are in focus", async () => {
    const asked: unknown[] = [];
    const spy: Scorer = {
      deviations: (what) => scorer.deviations(what),
      attention: (what) => {
        asked.push(what);
        return scorer.attention(what);
      },
    };
    const plan = await planned([0, 1, 9, 3], spy);
    const { share } = await plan("craft-1+focus");
    expect(share[2]).toBe(1);
    expect(Math.min(...share.slice(1))).toBeGreaterThan(0);
    expect(asked).toEqual([]);
  });
});
