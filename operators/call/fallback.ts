// Which arm takes over from one that failed: allowed, and chosen by the same draw without those
// that failed; with what is left of the deadline. Pure but for the breakers.
import { ARM_BROKEN, type ArmFailure } from "../../arms/arm.ts";
import type { SelectedExample } from "../flow.ts";
import { estimateTokens } from "../../algorithms/text/tokens.ts";
import { recompose, type ComposingArm } from "../recompose.ts";
import type { FailedArm, Work } from "../../schemas/types.ts";

/** Characters of a failure that are logged. */
const longestMessage = 1_000;

export interface FallbackOptions {
  arms: () => readonly Candidate[];
  /** Its breaker is closed. */
  isHealthy: (arm: string) => boolean;
  /** Arms that may take over from arms that were called in vain, for one request. */
  most: number;
  onFallback?: (from: string, to: string, code: string) => void;
}

type Candidate = ComposingArm & { contextTokens?: number | undefined };

export interface Fallback {
  /**
   * The arm that takes over if the one that the work is for fails; undefined: none. isTooLong: its
   * context is known to be longer than that arm's, or is unknown.
   */
  next(work: Work, isTooLong?: boolean): ComposingArm | undefined;
  handOver(
    work: Work,
    arm: ComposingArm,
    failure: Pick<ArmFailure, "code" | "message" | "attempts" | "spent"> & { ms: number },
    selected?: ReadonlyMap<string, readonly SelectedExample[]>,
  ): Work;
}

export const armOf = ({ decision, fallback, role }: Work): string =>
  fallback?.arm ?? (role === "alternative" ? (decision.alternativeArm ?? decision.arm) : decision.arm);
export const failedArms = ({ fallback }: Pick<Work, "fallback">): readonly FailedArm[] => fallback?.failed ?? [];

export function createFallback(options: FallbackOptions): Fallback {
  const { arms, isHealthy, most, onFallback } = options;
  return {
    next(work, isTooLong = false) {
      const failed = failedArms(work);
      // One that was not even called costs nothing; the arms are few, and none is asked twice.
      if (failed.filter(({ code }) => code !== ARM_BROKEN).length >= most) return undefined;
      const tried = new Set([armOf(work), ...failed.map(({ arm }) => arm)]);
      const known = new Map(arms().map((arm) => [arm.name, arm]));
      const short = isTooLong ? Math.max(known.get(armOf(work))?.contextTokens ?? 0, promptOf(work)) : 0;
      const [best] = work.decision.arms
        .filter(({ arm }) => (known.get(arm)?.contextTokens ?? Infinity) > short && !tried.has(arm))
        .filter(({ arm }) => known.has(arm) && isHealthy(arm))
        .map(({ arm, sampled, bias }) => ({ arm, score: sampled - bias }))
        .sort((one, other) => other.score - one.score);
      return best && known.get(best.arm);
    },
    handOver(work, next, { code, message, attempts, spent, ms }, selected) {
      const arm = armOf(work);
      onFallback?.(arm, next.name, code);
      const failed = { arm, code, message: message.slice(0, longestMessage), attempts, ms, ...charged(spent) };
      return {
        ...work,
        pieces: recompose(work, next, selected),
        fallback: { arm: next.name, failed: [...failedArms(work), failed] },
      };
    },
  };
}

const charged = (spent: ArmFailure["spent"]): Pick<FailedArm, "cost" | "billed"> => ({
  ...{ cost: spent?.cost ?? 0, billed: spent?.calls ?? 0 },
});

const promptOf = ({ pieces }: Pick<Work, "pieces">): number =>
  pieces.reduce((sum, { text }) => sum + estimateTokens(text), 0);
