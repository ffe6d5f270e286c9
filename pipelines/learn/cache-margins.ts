// What bytes of chunk caches are worth at the margin, by arm, as the arms' processes count it
// (topic kv-inventory): for learn, where caches share the byte budget. Whatever is not known of an
// arm leaves its bytes as they are.
import { voidMs } from "../../state/inventory/table.ts";
import type { TokenMargin } from "../../operators/aggregate/memory.ts";
import type { KvInventory } from "../../schemas/types.ts";
import { followInventoryTopic, type Inventoried } from "../../state/inventory/inventory.ts";
import type { Session } from "../../state/session.ts";

type Counted = Pick<KvInventory, "arm" | "gainTokens" | "lossTokens" | "measuredMs" | "createdAt">;

export interface MarginTable {
  /** Both by the record's key, arm/instance. */
  apply(key: string, inventory: Counted): void;
  remove(key: string): void;
  /**
   * Tokens in windowMs, of all processes of an arm. Absent: none is there, or one of them has
   * counted for less than leastMs.
   */
  of(window: { windowMs: number; leastMs: number }): Map<string, TokenMargin>;
}

export function createMarginTable(clock: () => number): MarginTable {
  const processes = new Map<string, Counted>();
  return {
    remove: (key) => void processes.delete(key),
    apply(key, { arm, gainTokens, lossTokens, measuredMs, createdAt }) {
      processes.set(key, { arm, gainTokens, lossTokens, measuredMs, createdAt: Math.min(createdAt, clock()) });
    },
    of({ windowMs, leastMs }) {
      const now = clock();
      const sums = new Map<string, TokenMargin>();
      const unknown = new Set<string>();
      for (const [key, { arm, gainTokens, lossTokens, measuredMs, createdAt }] of processes) {
        if (now - createdAt >= voidMs) {
          processes.delete(key);
          continue;
        }
        if (measuredMs <= 0 || measuredMs < leastMs) unknown.add(arm);
        const times = windowMs / measuredMs;
        const before = sums.get(arm) ?? { gainTokens: 0, lossTokens: 0 };
        sums.set(arm, {
          gainTokens: before.gainTokens + times * gainTokens,
          lossTokens: before.lossTokens + times * lossTokens,
        });
      }
      for (const arm of unknown) sums.delete(arm);
      return sums;
    },
  };
}

export interface FollowedMargins extends Pick<MarginTable, "of"> {
  stop(): Promise<void>;
}

export function followMargins(session: Inventoried, log: Session["log"]): FollowedMargins {
  const table = createMarginTable(Date.now);
  const { stop } = followInventoryTopic(session, table, log);
  return { of: table.of, stop };
}
