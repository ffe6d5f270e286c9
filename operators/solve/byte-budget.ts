// Splits the bytes for answers, examples and chunk caches anew: one step at most, from the memory
// that loses the least to the one that gains the most. Asks nobody.
import { moveBytes } from "../../algorithms/linked-prefill/byte-budget.ts";
import { bytesOfAll, type ByteBudgetBody } from "../../state/policies/byte-budget.ts";
import { cachesOf, type ByteBudgetSplit, type MemoryWorth } from "../learnt.ts";

export interface SplitRules {
  /** Shares of all bytes: what a memory keeps, and what moves at once. */
  floor: number;
  step: number;
}

/** A gain must be so many times the loss: what is measured is noisy. */
const margin = 1.2;

/** What bytes are worth is measured over so many looks at the split, half a day at most. */
const looks = 4;
const mostMs = 43_200_000;

export const measuredMs = (everyMs: number): number => Math.min(looks * everyMs, mostMs);

/** Bytes that move at once. */
export const stepOf = (split: ByteBudgetBody, rules: SplitRules): number => Math.floor(bytesOfAll(split) * rules.step);

export const createSplit =
  ({ rules }: { rules: SplitRules }) =>
  ({ worth, before }: { worth: MemoryWorth; before: ByteBudgetBody }): { split: ByteBudgetSplit } => {
    const floor = Math.floor(bytesOfAll(before) * rules.floor);
    // Whose worth is not known keeps what it has.
    const arms = Object.keys(before.caches).filter((arm) => worth.caches[arm] !== undefined);
    const memories = [
      ...(["responses", "examples"] as const).map((name) => ({ name, bytes: before[name], floor, ...worth[name] })),
      ...arms.map((arm) => ({ name: cachesOf(arm), bytes: before.caches[arm]!, floor, ...worth.caches[arm]! })),
    ];
    const moved = moveBytes(memories, { step: stepOf(before, rules), margin });
    const bytesOf = (name: string, otherwise: number): number => moved.bytes.get(name) ?? otherwise;
    const split: ByteBudgetBody = {
      responses: bytesOf("responses", before.responses),
      examples: bytesOf("examples", before.examples),
      caches: Object.fromEntries(
        Object.entries(before.caches).map(([arm, bytes]) => [arm, bytesOf(cachesOf(arm), bytes)]),
      ),
    };
    return { split: { before, split, moved, worth } };
  };
