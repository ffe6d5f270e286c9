// Pools of some arms' own: fewer examples of a domain, with the data's answers, or as a private
// pool: the large model's, each worth what it scores.
import { join } from "node:path";
import { exampleId } from "../../algorithms/identity/identity.ts";
import { answerCode } from "../../algorithms/text/answer-code.ts";
import { bestTokenF1 } from "../../algorithms/text/token-f1.ts";
import type { Example } from "../../schemas/types.ts";
import type { BenchContext } from "../benchmark.ts";
import { openCheckpoints } from "../support/checkpoints.ts";
import { type Arm, asking, settingsOf } from "./arms.ts";
import { openLarge } from "./large.ts";
import { domains, smallerPool } from "./stream.ts";

export async function smallerPools(
  context: BenchContext,
  arms: readonly Arm[],
  pool: readonly Example[],
): Promise<Example[]> {
  const pools: Example[] = [];
  for (const arm of arms) {
    if (arm.pool === undefined) continue;
    const smaller = { count: arm.pool, written: arm.written ?? false };
    const own = (arm.only === undefined ? domains : [arm.only]).flatMap((one) => smallerPool(pool, one, smaller));
    pools.push(...(smaller.written ? await rewritten(context, arm, own) : own));
  }
  return pools;
}

/** Answers that are missing are written, and kept for later runs. Shell requests alone. */
async function rewritten(
  { folder, progress, signal }: BenchContext,
  arm: Arm,
  examples: readonly Example[],
): Promise<Example[]> {
  const kept = await openCheckpoints(join(folder, `${arm.name}.json`), settingsOf(arm));
  const { system, maxTokens, stop } = asking.nl2bash;
  const bar = progress("examples written by the large model (kept for later runs)", examples.length, "examples");
  const large = await openLarge();
  try {
    const written: Example[] = [];
    for (const example of examples) {
      const { domain, request, response } = example;
      const messages = [
        { role: "system" as const, content: system },
        { role: "user" as const, content: request },
      ];
      const text = await kept.part(example.id, async () => {
        return (await large.answer(messages, { maxTokens, stop }, signal)).text;
      });
      const quality = bestTokenF1(answerCode(text), [response]);
      written.push({ ...example, id: exampleId(domain, request, text), response: text, quality });
      bar.update(written.length);
    }
    bar.finish();
    return written;
  } finally {
    await large.close();
  }
}
