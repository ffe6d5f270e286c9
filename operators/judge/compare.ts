// Asks an arm which of two answers is better: both orders, several samples each, averaged. What the
// arm fails to say is left out and counted.
import type { Arm } from "../../arms/arm.ts";
import {
  combineVerdicts,
  comparisonPrompt,
  readVerdict,
  type Compared,
  type Comparison,
} from "../../algorithms/routing/comparison.ts";

export interface CompareDependencies {
  arm: Pick<Arm, "answer" | "concurrency">;
  /** Samples of each order; 8 by default. */
  samples?: number;
  clock: () => number;
}

const callMs = 60_000;

/** Rejects only when the signal is aborted. */
export function createCompare({ arm, samples = 8, clock }: CompareDependencies) {
  return async function compare(
    { requestId, question, first, second }: Comparison,
    signal: AbortSignal,
  ): Promise<Compared> {
    const straight: number[] = [];
    const swapped: number[] = [];
    const spent = { tokens: 0, cost: 0 };
    const prompts = [comparisonPrompt(question, first, second), comparisonPrompt(question, second, first)];
    const calls = Array.from({ length: 2 * samples }, (_, call) => call);

    const ask = async (call: number): Promise<void> => {
      const isSwapped = call % 2 === 1;
      const answer = await arm.answer(
        {
          requestId,
          pieces: prompts[isSwapped ? 1 : 0] ?? [],
          // A seed of its own: equal samples would be one sample.
          params: { maxTokens: null, temperature: 0.7, topP: 0.95, seed: call + 1, stop: [] },
          deadline: clock() + callMs,
        },
        signal,
      );
      if (answer.kind === "failure") return;
      spent.tokens += answer.usage.prompt + answer.usage.completion;
      spent.cost += answer.cost;
      const verdict = readVerdict(answer.text);
      if (verdict !== null) (isSwapped ? swapped : straight).push(verdict);
    };
    // Never more calls at a time than the arm takes.
    const lane = async (): Promise<void> => {
      for (let call = calls.shift(); call !== undefined; call = calls.shift()) {
        signal.throwIfAborted();
        await ask(call);
      }
    };
    await Promise.all(Array.from({ length: Math.max(1, Math.min(arm.concurrency, 2 * samples)) }, lane));
    signal.throwIfAborted();
    const verdicts = [...straight, ...swapped.map((verdict) => -verdict + 0)];
    return {
      score: combineVerdicts(straight, swapped),
      verdicts,
      unread: 2 * samples - verdicts.length,
      ...spent,
    };
  };
}
