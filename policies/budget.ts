// The policy `budget`: how the bytes for kept answers and for examples are split, learnt from what
// the bytes of each save at the margin. This file is the codec of its body, and the state of a
// process that follows it. A version that was made for other bytes in all than are configured is
// not used: whoever changes the configuration begins with its split again.
import { z } from "zod";
import type { Policy } from "../schemas/types.ts";
import { createNewest } from "./newest.ts";
import { decodePolicyBody, type PolicyProblem } from "./record.ts";

export const BUDGET = "budget";
/** How to read the body: JSON of BudgetBody. */
export const BUDGET_KIND = "budget/1";

const bytes = z.number().int().min(0);
const bodySchema = z.strictObject({ responses: bytes, examples: bytes });
/** Bytes by memory. */
export type BudgetBody = z.infer<typeof bodySchema>;

export const encodeBudgetBody = (body: BudgetBody): string => JSON.stringify(bodySchema.parse(body));

/** Of all memories. */
export const bytesOfAll = ({ responses, examples }: BudgetBody): number => responses + examples;

/** The body, or why this process can't use the record. */
export function decodeBudgetPolicy(record: Policy, fixed: BudgetBody): BudgetBody | PolicyProblem {
  const decoded = decodePolicyBody(record, bodySchema, { name: BUDGET, kind: BUDGET_KIND });
  if ("problem" in decoded) return decoded;
  if (bytesOfAll(decoded.body) === bytesOfAll(fixed)) return decoded.body;
  return {
    problem: `${BUDGET} ${record.version} splits ${bytesOfAll(decoded.body)} bytes; ${bytesOfAll(fixed)} are configured`,
  };
}

export interface BudgetTable {
  /** Takes any policy; those of other names are ignored. Returns what is wrong with it, or null. */
  apply(record: Policy): string | null;
  remove(name: string): void;
  current(): BudgetBody;
}

/** fixed: the split of the configuration, in force until another is learnt. */
export function createBudgetTable(fixed: BudgetBody): BudgetTable {
  const newest = createNewest((record) => decodeBudgetPolicy(record, fixed), fixed);
  return {
    apply: (record) => (record.name === BUDGET && newest.apply(record) ? newest.current().problem : null),
    remove: (name) => {
      if (name === BUDGET) newest.remove();
    },
    current: () => newest.current().value,
  };
}
