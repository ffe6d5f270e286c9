// Returns the answer of the example in its prompt (docs/arms.md, reuse); plan decides whether it
// may be reused (operators/select, operators/route).
import { REUSE_MODEL } from "../../algorithms/routing/reuse-quality.ts";
import type { ReuseArmConfig } from "../../config/schema.ts";
import type { Arm, ArmRequest, ArmResult } from "../arm.ts";
import { NO_USAGE } from "../../schemas/no-usage.ts";

export function createReuseArm({ name, concurrency }: Pick<ReuseArmConfig, "name" | "concurrency">): Arm {
  function answer(
    { pieces }: ArmRequest,
    signal: AbortSignal,
    onText?: (text: string, attempt: number) => void,
  ): Promise<ArmResult> {
    if (signal.aborted) return Promise.resolve(failure("cancelled", "The call was cancelled before it began.", 0));
    const kept = pieces.findLast(({ kind, role }) => kind === "example" && role === "assistant");
    if (kept === undefined)
      return Promise.resolve(
        failure("not_recorded", `Arm "${name}" was given no example whose answer it could give.`, 1),
      );
    onText?.(kept.text, 1);
    return Promise.resolve({
      kind: "answer",
      text: kept.text,
      finishReason: "stop",
      model: REUSE_MODEL,
      usage: { ...NO_USAGE },
      cost: 0,
      attempts: 0,
      queueMs: 0,
      firstTokenMs: onText === undefined ? null : 0,
      source: "reuse",
    });
  }
  return { name, model: REUSE_MODEL, concurrency, answer, close: () => Promise.resolve() };
}

const failure = (code: string, message: string, attempts: number): ArmResult => ({
  ...{ kind: "failure", code, message, attempts, retriable: false },
});
