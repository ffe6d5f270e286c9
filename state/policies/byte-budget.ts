// The policy `byte-budget`: how the bytes for kept answers, for examples and, where they share the
// budget, for the chunk caches of each arm are split, learnt from what the bytes of each save at
// the margin. This file is the codec of its body, and the state of a process that follows it. A
// version that was made for other bytes in all than are configured, or for other arms, is not used:
// whoever changes the configuration begins with its split again.
import { z } from "zod";
import type { Policy } from "../../schemas/types.ts";
import { createNewest } from "./newest.ts";
import { decodePolicyBody, type PolicyProblem } from "./record.ts";

export const BYTE_BUDGET = "byte-budget";
/** How to read the body: JSON of ByteBudgetBody without caches, and with them. */
const ALONE = "byte-budget/1";
const WITH_CACHES = "byte-budget/2";

const bytes = z.number().int().min(0);
const aloneSchema = z.strictObject({ responses: bytes, examples: bytes });
const bodySchema = aloneSchema.extend({
  /** Chunk caches on disk, by arm; none where they have budgets of their own. */
  caches: z.record(z.string(), bytes),
});
/** Bytes by memory. */
export type ByteBudgetBody = z.infer<typeof bodySchema>;

/** Without caches it is what it was before there were any, which older processes read. */
export function encodeByteBudget(body: ByteBudgetBody): { kind: string; body: string } {
  const { caches, ...alone } = bodySchema.parse(body);
  if (Object.keys(caches).length === 0) return { kind: ALONE, body: JSON.stringify(alone) };
  return { kind: WITH_CACHES, body: JSON.stringify({ ...alone, caches }) };
}

/** Of all memories. */
export const bytesOfAll = ({ responses, examples, caches }: ByteBudgetBody): number =>
  Object.values(caches).reduce((sum, one) => sum + one, responses + examples);

export const sameByteBudget = (a: ByteBudgetBody, b: ByteBudgetBody): boolean =>
  a.responses === b.responses &&
  a.examples === b.examples &&
  sameArms(a, b) &&
  Object.entries(a.caches).every(([arm, one]) => b.caches[arm] === one);

const sameArms = (a: ByteBudgetBody, b: ByteBudgetBody): boolean =>
  Object.keys(a.caches).length === Object.keys(b.caches).length &&
  Object.keys(a.caches).every((arm) => Object.hasOwn(b.caches, arm));

function decodeAny(record: Policy): { body: ByteBudgetBody } | PolicyProblem {
  if (record.kind === WITH_CACHES)
    return decodePolicyBody(record, bodySchema, { name: BYTE_BUDGET, kind: WITH_CACHES });
  const decoded = decodePolicyBody(record, aloneSchema, { name: BYTE_BUDGET, kind: ALONE });
  return "problem" in decoded ? decoded : { body: { ...decoded.body, caches: {} } };
}

/** The body, or why this process can't use the record. */
export function decodeByteBudgetPolicy(record: Policy, fixed: ByteBudgetBody): ByteBudgetBody | PolicyProblem {
  const decoded = decodeAny(record);
  if ("problem" in decoded) return decoded;
  if (!sameArms(decoded.body, fixed))
    return {
      problem: `${BYTE_BUDGET} ${record.version} has caches of ${armsOf(decoded.body)}; ${armsOf(fixed)} share here`,
    };
  if (bytesOfAll(decoded.body) === bytesOfAll(fixed)) return decoded.body;
  return {
    problem: `${BYTE_BUDGET} ${record.version} splits ${bytesOfAll(decoded.body)} bytes; ${bytesOfAll(fixed)} are configured`,
  };
}

const armsOf = ({ caches }: ByteBudgetBody): string =>
  Object.keys(caches).length === 0 ? "no arm" : Object.keys(caches).sort().join(", ");

export interface ByteBudgetTable {
  /** Takes any policy; those of other names are ignored. Returns what is wrong with it, or null. */
  apply(record: Policy): string | null;
  remove(name: string): void;
  current(): ByteBudgetBody;
}

/** fixed: the split of the configuration, in force until another is learnt. */
export function createByteBudgetTable(fixed: ByteBudgetBody): ByteBudgetTable {
  const newest = createNewest((record) => decodeByteBudgetPolicy(record, fixed), fixed);
  return {
    apply: (record) => (record.name === BYTE_BUDGET && newest.apply(record) ? newest.current().problem : null),
    remove: (name) => {
      if (name === BYTE_BUDGET) newest.remove();
    },
    current: () => newest.current().value,
  };
}
